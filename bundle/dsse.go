package bundle

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
)

// envelope is a DSSE envelope (github.com/secure-systems-lab/dsse, version 1.0.2) with one signature.
type envelope struct {
	PayloadType string      `json:"payloadType"`
	Payload     []byte      `json:"payload"`
	Signatures  []signature `json:"signatures"`
}

type signature struct {
	KeyID string `json:"keyid"`
	Sig   []byte `json:"sig"`
}

// preAuthEncoding is DSSE's PAE: what is signed.
func preAuthEncoding(payloadType string, payload []byte) []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(payloadType), payloadType, len(payload), payload)
}

// seal signs a payload.
func seal(payload []byte, key ed25519.PrivateKey) ([]byte, error) {
	public, _ := key.Public().(ed25519.PublicKey)
	sig := signature{KeyID(public), ed25519.Sign(key, preAuthEncoding(payloadType, payload))}
	return json.Marshal(envelope{payloadType, payload, []signature{sig}})
}

// openEnvelope reads an envelope as [seal] writes it, byte for byte: what a signature does
// not cover may not differ either. The signature is not looked at.
func openEnvelope(data []byte) (envelope, error) {
	var e envelope
	if err := json.Unmarshal(data, &e); err != nil {
		return e, fmt.Errorf("read envelope: %w", err)
	}
	if again, err := json.Marshal(e); err != nil || !bytes.Equal(again, data) {
		return e, errors.New("read envelope: it is not written as yudai writes envelopes")
	}
	if e.PayloadType != payloadType || len(e.Signatures) != 1 {
		return e, fmt.Errorf("read envelope: it has %d signatures and the type %.80q; want one and %q",
			len(e.Signatures), e.PayloadType, payloadType)
	}
	return e, nil
}

// check says whether the key made the signature.
func (e envelope) check(key ed25519.PublicKey) error {
	if id := KeyID(key); e.Signatures[0].KeyID != id {
		return fmt.Errorf("the statement names the key %.64q, and this is the key %s", e.Signatures[0].KeyID, id)
	}
	if !ed25519.Verify(key, preAuthEncoding(e.PayloadType, e.Payload), e.Signatures[0].Sig) {
		return errors.New("the signature is wrong: the statement was changed, or another key made it")
	}
	return nil
}
