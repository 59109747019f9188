package progress

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Event prints one JSON object on a line of its own, {"event": name, key:
// value, …} with the keys in the order given; without JSON it prints nothing.
// Keys are strings; floating-point numbers, alone or in a list, become null
// where they are not finite.
func (r *Reporter) Event(name string, keyValues ...any) {
	if !r.opt.JSON {
		return
	}
	text := encodeEvent(name, keyValues)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.write(text)
}

func encodeEvent(name string, keyValues []any) string {
	if len(keyValues)%2 != 0 {
		panic(fmt.Sprintf("progress: event %s: a key without a value", name))
	}
	var b bytes.Buffer
	b.WriteString(`{"event":`)
	encodeValue(&b, name)
	for i := 0; i < len(keyValues); i += 2 {
		b.WriteByte(',')
		encodeValue(&b, keyValues[i].(string))
		b.WriteByte(':')
		encodeValue(&b, keyValues[i+1])
	}
	b.WriteString("}\n")
	return b.String()
}

func encodeValue(b *bytes.Buffer, v any) {
	var one bytes.Buffer
	enc := json.NewEncoder(&one)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(Finite(v)); err != nil {
		// A value that JSON cannot hold, such as a NaN deep inside: as text.
		encodeValue(b, fmt.Sprint(v))
		return
	}
	b.Write(bytes.TrimRight(one.Bytes(), "\n"))
}

// Finite is v with nil for floating-point numbers, alone or in a list, that JSON cannot
// hold.
func Finite(v any) any {
	switch v := v.(type) {
	case float32:
		return Finite(float64(v))
	case float64:
		if !finite(v) {
			return nil
		}
	case []float64:
		each := make([]any, len(v))
		for i, x := range v {
			each[i] = Finite(x)
		}
		return each
	}
	return v
}
