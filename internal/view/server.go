package view

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/picture"
)

//go:embed web
var web embed.FS

// Server shows files to one browser.
type Server struct {
	files    []*File
	listener net.Listener
	session  string // what the browser's cookie holds
	output   string // file of edited picks; "" for none

	mu    sync.Mutex
	token string // of the first visit; "" once it was used
	force bool   // the output may be overwritten
}

// Options say what a server may do.
type Options struct {
	Port   int    // of 127.0.0.1, 0 for any free one
	Output string // file that edited picks go to; "": they cannot be saved
	Force  bool   // it may be overwritten
}

// New opens files and listens on a port of 127.0.0.1.
func New(paths []string, opt Options) (*Server, error) {
	s := &Server{token: rand.Text(), session: rand.Text(), output: opt.Output, force: opt.Force}
	for _, path := range paths {
		f, err := openFile(path)
		if err != nil {
			s.Close()
			return nil, err
		}
		s.files = append(s.files, f)
	}
	var err error
	if s.listener, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(opt.Port))); err != nil {
		s.Close()
		return nil, status.Resource(err)
	}
	return s, nil
}

// URL is the address for the first visit. It is good once.
func (s *Server) URL() string {
	return fmt.Sprintf("http://%s/?token=%s", s.listener.Addr(), s.token)
}

// Close closes the files and the port.
func (s *Server) Close() {
	for _, f := range s.files {
		f.close()
	}
	if s.listener != nil {
		s.listener.Close()
	}
}

// Serve answers until ctx ends.
func (s *Server) Serve(ctx context.Context) error {
	server := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return status.Resource(err)
	}
	return nil
}

// Handler answers the requests of the page.
func (s *Server) Handler() http.Handler {
	static, err := fs.Sub(web, "web")
	if err != nil {
		panic(err) // the folder is part of the program
	}
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(static))
	mux.HandleFunc("GET /api/files", s.list)
	mux.HandleFunc("GET /api/window", s.window)
	mux.HandleFunc("GET /api/profile", s.profile)
	mux.HandleFunc("POST /api/picks", s.save)
	return s.guard(mux)
}

// guard admits only the user's browser.
func (s *Server) guard(next http.Handler) http.Handler {
	_, port, _ := net.SplitHostPort(s.listener.Addr().String())
	cookie := "lsm-view-" + port // browsers do not tell cookies of ports apart
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		if r.Host != "127.0.0.1:"+port && r.Host != "localhost:"+port {
			http.Error(w, "lsm view answers on 127.0.0.1 and localhost only", http.StatusForbidden)
			return
		}
		if token := r.URL.Query().Get("token"); r.URL.Path == "/" && token != "" && s.admit(token) {
			http.SetCookie(w, &http.Cookie{Name: cookie, Value: s.session, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
			http.Redirect(w, r, "/", http.StatusSeeOther)
			return
		}
		if c, err := r.Cookie(cookie); err != nil || !same(c.Value, s.session) {
			http.Error(w, "This address has been used, or its token is missing: start lsm view again.", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// admit uses the token up.
func (s *Server) admit(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token == "" || !same(token, s.token) {
		return false
	}
	s.token = ""
	return true
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// list says what there is to show.
func (s *Server) list(w http.ResponseWriter, _ *http.Request) {
	maps := map[string][][3]uint8{}
	for _, c := range []picture.Colors{picture.Grey, picture.Diverging, picture.Sequential} {
		maps[c.String()] = c.Table(256)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"files": s.files, "colors": maps, "saves": s.output != ""})
}

// window answers with values of a window of an array: little-endian float32, [down, right].
func (s *Server) window(w http.ResponseWriter, r *http.Request) {
	a, win, err := s.asked(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	v, err := a.Read(win)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_ = binary.Write(w, binary.LittleEndian, v)
}

func (s *Server) asked(q url.Values) (*Array, Window, error) {
	p := parser{q: q}
	a := s.array(&p)
	axes, pixels := p.ints("axes", 2), p.ints("pixels", 2)
	edges := p.floats("edges", 4)
	if p.err != nil {
		return nil, Window{}, p.err
	}
	w := Window{Right: axes[0], Down: axes[1], At: p.ints("at", len(a.Axes)),
		From: [2]float64{edges[0], edges[1]}, To: [2]float64{edges[2], edges[3]}, Pixels: [2]int{pixels[0], pixels[1]}}
	if p.err == nil {
		p.err = w.Validate(a)
	}
	return a, w, p.err
}

// array returns the array that a query names; if there is none, it returns nil and sets an error in
// p.
func (s *Server) array(p *parser) *Array {
	file, array := p.ints("file", 1)[0], p.ints("array", 1)[0]
	if p.err == nil && (file < 0 || file >= len(s.files) || array < 0 || array >= len(s.files[file].Arrays)) {
		p.err = fmt.Errorf("no array %d of file %d", array, file)
	}
	if p.err != nil {
		return nil
	}
	return s.files[file].Arrays[array]
}

// parser reads lists of numbers from a query; the first fault sticks.
type parser struct {
	q   url.Values
	err error
}

func (p *parser) ints(name string, n int) []int {
	return numbers(p, name, n, strconv.Atoi)
}

func (p *parser) floats(name string, n int) []float64 {
	return numbers(p, name, n, func(s string) (float64, error) { return strconv.ParseFloat(s, 64) })
}

func numbers[T any](p *parser, name string, n int, read func(string) (T, error)) []T {
	out := make([]T, n)
	parts := strings.Split(p.q.Get(name), ",")
	if len(parts) != n && p.err == nil {
		p.err = fmt.Errorf("%s=%q: want %d numbers", name, p.q.Get(name), n)
	}
	for i := range min(n, len(parts)) {
		v, err := read(parts[i])
		if err != nil && p.err == nil {
			p.err = fmt.Errorf("%s: %w", name, err)
		}
		out[i] = v
	}
	return out
}
