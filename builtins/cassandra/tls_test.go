package cassandra

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sextant/interp/driver/drivertest"
)

// secured is a node with a certificate, and its URL.
func secured(t *testing.T, cert, key string) (url, secret string) {
	t.Helper()
	var both []byte // Cassandra reads one file
	for _, f := range []string{key, cert} {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		both = append(both, b...)
	}
	file := filepath.Join(filepath.Dir(cert), fmt.Sprintf("node%d.pem", time.Now().UnixNano()))
	if err := os.WriteFile(file, both, 0o644); err != nil {
		t.Fatal(err)
	}
	s := local(t, map[string]any{"settings": map[string]any{"client_encryption_options": fmt.Sprintf(
		"{enabled: true, optional: true, require_client_auth: false, keystore: '%s', ssl_context_factory: {class_name: org.apache.cassandra.security.PEMBasedSslContextFactory}}", file)}})
	return fmt.Sprintf("cassandra://any:secretword@127.0.0.1:%d/sextant", s.cfg.Port), "secretword"
}

// TLS: asked for, verified, a wrong name and a certificate of the past refused.
func TestTLS(t *testing.T) {
	need(t)
	drivertest.TLS(t, Driver(), "{tls yes}", secured)
}
