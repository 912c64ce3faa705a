package ghapp

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"
)

// parseKey reads PKCS#1, as GitHub issues keys, and PKCS#8, as tools convert them to.
func parseKey(text string) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New(noPEM(text))
	}
	if why := otherPEM(block); why != "" {
		return nil, errors.New(why)
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("its PEM block is damaged; " + download)
	}
	key, ok := parsed.(*rsa.PrivateKey)
	if !ok {
		return nil, errors.New("it is not an RSA key; " + download)
	}
	return key, nil
}

// download says where the right key is.
const download = "use the .pem file that the App's settings page gives when a private key is generated"

// noPEM says what a text is that holds no PEM block, without repeating it.
func noPEM(text string) string {
	switch {
	case strings.Contains(text, "-----BEGIN "):
		return "it is cut off or damaged between its BEGIN and END lines; " + download
	case !strings.ContainsAny(text, "\n") && (strings.HasSuffix(text, ".pem") || strings.HasPrefix(text, "/") || strings.HasPrefix(text, ".")):
		return "it looks like the name of a file; set github.app.private_key_file to that instead"
	}
	return "it is not PEM, the text between a BEGIN and an END line; " + download
}

// otherPEM says what a PEM block is that is no private RSA key GitHub makes.
func otherPEM(block *pem.Block) string {
	switch {
	case strings.Contains(block.Type, "PUBLIC KEY"), block.Type == "CERTIFICATE", block.Type == "CERTIFICATE REQUEST":
		return "it is a " + strings.ToLower(block.Type) + ", not the private key; " + download
	case strings.Contains(block.Type, "ENCRYPTED"), strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED"):
		return "it is encrypted with a passphrase; store it without one, readable by yudai's user only"
	case strings.Contains(block.Type, "OPENSSH"):
		return "it is a key for SSH; " + download
	case strings.HasPrefix(block.Type, "EC "):
		return "it is not an RSA key; " + download
	}
	return ""
}
