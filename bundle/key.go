package bundle

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/yudai-dev/yudai/internal/durable"
)

// KeyFile, in the signer's directory, holds the private key.
const KeyFile = "signing.key"

// Types of PEM blocks.
const (
	privateBlock = "PRIVATE KEY"
	publicBlock  = "PUBLIC KEY"
)

// KeyID names a public key: the SHA-256 of its DER form in hex, as
// `openssl pkey -pubin -in FILE -outform DER | sha256sum` prints it.
func KeyID(key ed25519.PublicKey) string {
	der, _ := x509.MarshalPKIXPublicKey(key) // of this type it never fails
	return hexSum(der)
}

func hexSum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// PublicKeyFile is where a public key lies, for whoever checks bundles.
func PublicKeyFile(dir string, key ed25519.PublicKey) string { return publicKeyFile(dir, KeyID(key)) }

func publicKeyFile(dir, id string) string { return filepath.Join(dir, id+".pub") }

func encodePublicKey(key ed25519.PublicKey) []byte {
	der, _ := x509.MarshalPKIXPublicKey(key)
	return pem.EncodeToMemory(&pem.Block{Type: publicBlock, Bytes: der})
}

// ParsePublicKey reads an Ed25519 public key in PEM.
func ParsePublicKey(data []byte) (ed25519.PublicKey, error) {
	block, _ := pem.Decode(data)
	if block == nil || block.Type != publicBlock {
		return nil, fmt.Errorf("read public key: there is no PEM block %q", publicBlock)
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read public key: %w", err)
	}
	key, ok := parsed.(ed25519.PublicKey)
	if !ok {
		return nil, fmt.Errorf("read public key: it is a %T, not an Ed25519 key", parsed)
	}
	return key, nil
}

// ReadKey is the public half of the key in a directory; fs.ErrNotExist if none was made yet.
func ReadKey(dir string) (ed25519.PublicKey, error) {
	key, err := readPrivateKey(dir)
	if err != nil {
		return nil, err
	}
	public, _ := key.Public().(ed25519.PublicKey)
	return public, nil
}

func readPrivateKey(dir string) (ed25519.PrivateKey, error) {
	path := filepath.Join(dir, KeyFile)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the signing key: %w", err)
	}
	if block, _ := pem.Decode(data); block != nil && block.Type == privateBlock {
		parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if key, ok := parsed.(ed25519.PrivateKey); err == nil && ok {
			return key, nil
		}
	}
	return nil, fmt.Errorf("read the signing key: %s holds no Ed25519 key; restore it, or remove it and a new one is made", path)
}

// ensureKey reads the key, or makes it, readable by its owner only, with the public half beside it.
func ensureKey(dir string) (ed25519.PrivateKey, error) {
	key, err := readPrivateKey(dir)
	if errors.Is(err, fs.ErrNotExist) {
		key, err = makeKey(dir)
	}
	if err != nil {
		return nil, err
	}
	public, _ := key.Public().(ed25519.PublicKey)
	if err := keepFile(PublicKeyFile(dir, public), encodePublicKey(public)); err != nil {
		return nil, err
	}
	signers, err := allowedSigners(public)
	if err != nil {
		return nil, err
	}
	return key, keepFile(filepath.Join(dir, KeyID(public)+".allowed_signers"), signers)
}

// keepFile writes a file that does not have this content already.
func keepFile(path string, text []byte) error {
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, text) {
		return nil
	}
	return durable.WriteFile(path, text)
}

func makeKey(dir string) (ed25519.PrivateKey, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the signing key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("make the signing key: %w", err)
	}
	return key, durable.WriteFile(filepath.Join(dir, KeyFile), pem.EncodeToMemory(&pem.Block{Type: privateBlock, Bytes: der}))
}
