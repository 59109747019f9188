package record

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// File is what a record says of the file itself.
type File struct {
	Kind   string // "survey", "model", "image", ...
	Name   string // without folders
	Bytes  int64
	SHA256 string // hexadecimal
}

// kinds are the resource types of files.
var kinds = map[string]string{
	"survey": "Seismic survey", "model": "Seismic velocity model", "image": "Seismic image", "tables": "Seismic traveltimes", "surface": "Topography",
}

// Formats are the names that Export knows.
var Formats = []string{"datacite", "dcat"}

// Export writes the record in a format: "datacite" is JSON of the DataCite metadata schema
// 4.5, "dcat" is JSON-LD of DCAT 3. It refuses a record that lacks what the schema requires.
func (r Record) Export(format string, f File) ([]byte, error) {
	var v any
	var wanted []string
	switch format {
	case "datacite":
		wanted, v = []string{Identifier, Creators, Title, Publisher, Date}, r.dataCite(f)
	case "dcat":
		wanted, v = []string{Title, Description}, r.dcat(f)
	default:
		return nil, status.Usage(fmt.Errorf("metadata format is %q, want one of %s", format, strings.Join(Formats, ", ")))
	}
	if missing := r.Missing(wanted...); missing != nil {
		err := status.Input(fmt.Errorf("%s: the record lacks %s, which %s requires", f.Name, strings.Join(missing, ", "), format))
		return nil, status.Hint(err, "lsm metadata FILE "+missing[0]+"=... adds it")
	}
	if format == "datacite" && doiOf(r[Identifier]) == "" {
		return nil, status.Input(fmt.Errorf("%s: the identifier is %s, DataCite requires a DOI", f.Name, r[Identifier]))
	}
	b, err := json.MarshalIndent(v, "", "  ")
	return append(b, '\n'), err
}

type object = map[string]any

// dataCite is the record by the DataCite metadata schema 4.5 (datacite.org), in the property
// names of its JSON form. The mandatory properties are identifier, creators, titles, publisher,
// publicationYear and types.
func (r Record) dataCite(f File) object {
	var creators []object
	for _, c := range creatorsOf(r[Creators]) {
		o := object{"name": c.name, "nameType": "Organizational"}
		if c.family != "" || c.orcid != "" {
			o["nameType"] = "Personal"
		}
		if c.family != "" {
			o["familyName"], o["givenName"] = c.family, c.given
		}
		if c.orcid != "" {
			o["nameIdentifiers"] = []object{{"nameIdentifier": "https://orcid.org/" + c.orcid, "nameIdentifierScheme": "ORCID", "schemeUri": "https://orcid.org"}}
		}
		creators = append(creators, o)
	}
	o := object{
		"schemaVersion":   "http://datacite.org/schema/kernel-4",
		"doi":             doiOf(r[Identifier]),
		"creators":        creators,
		"titles":          []object{{"title": r[Title]}},
		"publisher":       object{"name": r[Publisher]},
		"publicationYear": yearOf(r[Date]),
		"types":           object{"resourceTypeGeneral": "Dataset", "resourceType": kindText(f.Kind)},
		"dates":           []object{{"date": r[Date], "dateType": "Issued"}},
		"formats":         []string{mediaType},
		"sizes":           []string{fmt.Sprintf("%d bytes", f.Bytes)},
	}
	if uri := licenceURI(r[Licence]); uri != "" {
		rights := object{"rightsUri": uri, "rights": r[Licence]}
		if !link.MatchString(r[Licence]) {
			rights["rightsIdentifier"], rights["rightsIdentifierScheme"], rights["schemeUri"] = r[Licence], "SPDX", "https://spdx.org/licenses/"
		}
		o["rightsList"] = []object{rights}
	}
	var texts []object
	for _, d := range [][2]string{{r[Description], "Abstract"}, {r[Origin], "Methods"}, {r.crsText(), "TechnicalInfo"}} {
		if d[0] != "" {
			texts = append(texts, object{"description": d[0], "descriptionType": d[1]})
		}
	}
	if texts != nil {
		o["descriptions"] = texts
	}
	var subjects []object
	for _, word := range r.keywords() {
		subjects = append(subjects, object{"subject": word})
	}
	if subjects != nil {
		o["subjects"] = subjects
	}
	return o
}

// dcat is the record as a dcat:Dataset (W3C, Data Catalog Vocabulary 3, 2024).
func (r Record) dcat(f File) object {
	o := object{
		"@context": object{
			"dcat": "http://www.w3.org/ns/dcat#", "dct": "http://purl.org/dc/terms/", "foaf": "http://xmlns.com/foaf/0.1/",
			"spdx": "http://spdx.org/rdf/terms#", "xsd": "http://www.w3.org/2001/XMLSchema#",
		},
		"@type":           "dcat:Dataset",
		"dct:title":       r[Title],
		"dct:description": r[Description],
		"dct:type":        kindText(f.Kind),
		"dcat:distribution": object{
			"@type": "dcat:Distribution", "dct:title": f.Name,
			"dcat:mediaType": object{"@id": "https://www.iana.org/assignments/media-types/" + mediaType},
			"dcat:byteSize":  object{"@type": "xsd:nonNegativeInteger", "@value": fmt.Sprint(f.Bytes)},
			"spdx:checksum": object{"@type": "spdx:Checksum", "spdx:algorithm": object{"@id": "spdx:checksumAlgorithm_sha256"},
				"spdx:checksumValue": object{"@type": "xsd:hexBinary", "@value": f.SHA256}},
		},
	}
	if id := r[Identifier]; id != "" {
		o["dct:identifier"], o["@id"] = id, id
		if d := doiOf(id); d != "" {
			o["@id"] = "https://doi.org/" + d
		}
	}
	var creators []object
	for _, c := range creatorsOf(r[Creators]) {
		agent := object{"@type": "foaf:Agent", "foaf:name": c.name}
		if c.orcid != "" {
			agent["@id"] = "https://orcid.org/" + c.orcid
		}
		creators = append(creators, agent)
	}
	if creators != nil {
		o["dct:creator"] = creators
	}
	if r[Publisher] != "" {
		o["dct:publisher"] = object{"@type": "foaf:Agent", "foaf:name": r[Publisher]}
	}
	if r[Date] != "" {
		o["dct:issued"] = object{"@type": map[int]string{4: "xsd:gYear", 7: "xsd:gYearMonth", 10: "xsd:date"}[len(r[Date])], "@value": r[Date]}
	}
	if uri := licenceURI(r[Licence]); uri != "" {
		o["dct:license"] = object{"@id": uri}
	}
	if r[Origin] != "" {
		o["dct:provenance"] = object{"@type": "dct:ProvenanceStatement", "dct:description": r[Origin]}
	}
	if at := epsg.FindStringSubmatch(r[CRS]); at != nil {
		o["dct:conformsTo"] = object{"@id": "http://www.opengis.net/def/crs/EPSG/0/" + at[1], "@type": "dct:Standard"}
	} else if r[CRS] != "" {
		o["dct:conformsTo"] = object{"@type": "dct:Standard", "dct:title": r[CRS]}
	}
	if words := r.keywords(); words != nil {
		o["dcat:keyword"] = words
	}
	return o
}

const mediaType = "application/x-hdf5"

func kindText(kind string) string {
	if text := kinds[kind]; text != "" {
		return text
	}
	return "Seismic data"
}

// crsText says which coordinate reference system the data have, "" where that is unknown.
func (r Record) crsText() string {
	if r[CRS] == "" {
		return ""
	}
	return "Coordinate reference system: " + r[CRS]
}

// licenceURI is the address of a licence.
func licenceURI(licence string) string {
	if licence == "" || link.MatchString(licence) {
		return licence
	}
	return "https://spdx.org/licenses/" + licence
}

func (r Record) keywords() (list []string) {
	for _, word := range strings.Split(r[Keywords], ",") {
		if word = strings.TrimSpace(word); word != "" {
			list = append(list, word)
		}
	}
	return list
}
