package drivertest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sextant/interp/driver"
)

// Certificate makes a self-signed certificate for 127.0.0.1 and its key.
func Certificate(t testing.TB, dir, name string, until time.Time) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: until, IsCA: true, BasicConstraintsValid: true}
	if ip := net.ParseIP(name); ip != nil {
		c.IPAddresses = []net.IP{ip}
	} else {
		c.DNSNames = []string{name}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	pkcs, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: pkcs}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// TLS tests how a server is reached by tls and ca: asked for, verified, a wrong name and a certificate of the past refused. start runs a server that
// has a certificate, and gives its URL and what must not be said of it.
func TLS(t *testing.T, d driver.Driver, fact string, start func(t *testing.T, cert, key string) (url, secret string)) {
	t.Helper()
	dir, err := os.MkdirTemp("", "sextant-tls-") // where the server's own user gets in
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		name  string
		until time.Time
		mode  string
		want  string
	}{
		{"127.0.0.1", time.Now().Add(time.Hour), "verify", ""}, {"127.0.0.1", time.Now().Add(time.Hour), "require", ""},
		{"other.example", time.Now().Add(time.Hour), "verify", "cannot validate certificate"}, {"other.example", time.Now().Add(time.Hour), "require", ""},
		{"127.0.0.1", time.Now().Add(-time.Minute), "verify", "expired"},
	} {
		cert, key := Certificate(t, dir, x.name, x.until)
		url, secret := start(t, cert, key)
		o := map[string]any{"url": url, "tls": x.mode}
		if x.mode == "verify" {
			o["ca"] = cert
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		sys, err := d.Open(ctx, target(d, "server", o))
		cancel()
		if x.want != "" {
			if class, _ := driver.Classify(err); err == nil || !strings.Contains(err.Error(), x.want) || class != driver.Auth || strings.Contains(err.Error(), secret) {
				t.Errorf("%s, %s: %v (%s)", x.name, x.mode, err, class)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s, %s: %v", x.name, x.mode, err)
			continue
		}
		facts, err := sys.Facts(t.Context())
		if err != nil || !strings.Contains(fmt.Sprint(facts), fact) {
			t.Errorf("%v %v", facts, err)
		}
		if err := sys.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
