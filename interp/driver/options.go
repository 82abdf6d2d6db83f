package driver

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"sextant/interp/spec"
)

// PasswordInScript is the error of a URL that stands in a script and holds a password; variable is a name for the one that it
// should be in.
func PasswordInScript(variable string) error {
	return fmt.Errorf("holds a password, which would end up in results: put the URL into an environment variable and write url = secret(%q)", variable)
}

// TLSParams are the parameters of a maker whose system takes TLS apart from its URL; CheckTLS and TLSConfig read them.
func TLSParams() []spec.Param {
	return []spec.Param{
		{Name: "tls", Kind: spec.KindString, Default: "off", OneOf: []string{"off", "require", "verify"},
			Doc: "off; require: encrypted, whoever answers; verify: the certificate must be of the host"},
		{Name: "ca", Kind: spec.KindString, Doc: "file with the certificates that tls = \"verify\" trusts; None: the system's"},
		{Name: "cert", Kind: spec.KindString, Doc: "file with the client's own certificate"},
		{Name: "key", Kind: spec.KindString, Doc: "file with the key of cert"},
	}
}

// CheckTLS refuses files that tls makes no use of.
func CheckTLS(o map[string]any) error {
	mode, _ := o["tls"].(string)
	for _, name := range []string{"ca", "cert", "key"} {
		if o[name] != nil && (mode == "off" || name == "ca" && mode != "verify") {
			return &spec.ParamError{Param: name, Msg: fmt.Sprintf("has no meaning with tls = %q", mode)}
		}
	}
	if (o["cert"] == nil) != (o["key"] == nil) {
		return &spec.ParamError{Param: "cert", Msg: "needs key, and key needs cert"}
	}
	return nil
}

// TLSConfig makes the configuration of tls = require and verify, without the name of the server; nil for off.
func TLSConfig(o map[string]any) (*tls.Config, error) {
	mode, _ := o["tls"].(string)
	if mode == "" || mode == "off" {
		return nil, nil
	}
	cfg := &tls.Config{InsecureSkipVerify: mode == "require"} //nolint:gosec // require asks for encryption only, and says so
	if file, ok := o["ca"].(string); ok {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, &Error{Class: Other, Err: fmt.Errorf("reading ca: %w", err)}
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(b) {
			return nil, &Error{Class: Other, Err: fmt.Errorf("ca: %s holds no certificate", file)}
		}
	}
	if file, ok := o["cert"].(string); ok {
		key, _ := o["key"].(string)
		c, err := tls.LoadX509KeyPair(file, key)
		if err != nil {
			return nil, &Error{Class: Other, Err: fmt.Errorf("reading cert and key: %w", err)}
		}
		cfg.Certificates = []tls.Certificate{c}
	}
	return cfg, nil
}
