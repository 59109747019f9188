package picture

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image/png"
	"io"
	"strings"

	"github.com/kirchhoff-lsm/lsm/internal/plainfile"
)

// Encode writes the figure as a PNG. The same figure gives the same bytes.
func (f *Figure) Encode(w io.Writer) error {
	var b bytes.Buffer
	if err := png.Encode(&b, f.Draw()); err != nil {
		return fmt.Errorf("picture: %w", err)
	}
	if _, err := w.Write(f.mark(b.Bytes())); err != nil {
		return fmt.Errorf("picture: %w", err)
	}
	return nil
}

// WriteFile publishes the figure at path, which holds either the old picture or the
// whole new one. Without force an existing file is an error that wraps fs.ErrExist.
func WriteFile(path string, f *Figure, force bool) error {
	var b bytes.Buffer
	if err := f.Encode(&b); err != nil {
		return err
	}
	if err := plainfile.Write(path, b.Bytes(), force); err != nil {
		return fmt.Errorf("picture: %w", err)
	}
	return nil
}

// A PNG begins with its signature and the chunk IHDR, 25 bytes; texts may follow.
const (
	signature = "\x89PNG\r\n\x1a\n"
	pngHead   = len(signature) + 25
	mostHead  = 1 << 16 // bytes in which the texts of a picture lie
)

const (
	keySoftware = "Software"
	keySource   = "Source"
)

// mark puts the figure's origin into its PNG, as texts.
func (f *Figure) mark(png []byte) []byte {
	if f.Software == "" {
		return png
	}
	out := bytes.Clone(png[:pngHead])
	for _, t := range [][2]string{{keySoftware, f.Software}, {keySource, f.Source}} {
		// International text: keyword, not compressed, no language, no translation.
		chunk := []byte("iTXt" + t[0] + "\x00\x00\x00\x00\x00" + t[1])
		out = binary.BigEndian.AppendUint32(out, uint32(len(chunk)-4))
		out = append(out, chunk...)
		out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(chunk))
	}
	return append(out, png[pngHead:]...)
}

// Origin reads which software drew the picture at path, and from what, as Figure says;
// both are "" for any other file.
func Origin(path string) (software, source string) {
	file, err := plainfile.Open(path)
	if err != nil {
		return "", ""
	}
	defer file.Close()
	head, err := io.ReadAll(io.LimitReader(file, mostHead))
	if err != nil || len(head) < pngHead || string(head[:len(signature)]) != signature {
		return "", ""
	}
	texts := map[string]string{}
	for rest := head[pngHead:]; len(rest) >= 12; {
		n := int(binary.BigEndian.Uint32(rest))
		if n > len(rest)-12 || string(rest[4:8]) != "iTXt" {
			break
		}
		key, text, _ := strings.Cut(string(rest[8:8+n]), "\x00\x00\x00\x00\x00")
		texts[key] = text
		rest = rest[12+n:]
	}
	return texts[keySoftware], texts[keySource]
}
