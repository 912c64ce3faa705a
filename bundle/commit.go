package bundle

import (
	"crypto/ed25519"
	"fmt"
	"io"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
)

// commitNamespace keeps a signature of a commit from being one of anything else; git knows it.
const commitNamespace = "git"

// SignCommit writes the signature of a commit object, in the format of SSH, which git verifies
// with the file that allowedSigners makes.
func (s *Signer) SignCommit(signature io.Writer, commit io.Reader) error {
	key, err := ssh.NewSignerFromSigner(s.key)
	if err != nil {
		return fmt.Errorf("sign commit: %w", err)
	}
	sig, err := sshsig.Sign(commit, key, sshsig.HashSHA512, commitNamespace)
	if err != nil {
		return fmt.Errorf("sign commit: %w", err)
	}
	_, err = signature.Write(sshsig.Armor(sig))
	return err
}

// allowedSigners is what gpg.ssh.allowedSignersFile of git must contain: the key, whatever the
// address of the committer.
func allowedSigners(public ed25519.PublicKey) ([]byte, error) {
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		return nil, fmt.Errorf("encode public key: %w", err)
	}
	return fmt.Appendf(nil, "* namespaces=%q %s", commitNamespace, ssh.MarshalAuthorizedKey(key)), nil
}
