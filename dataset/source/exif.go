package source

import (
	"bytes"
	"encoding/binary"
)

// orientation returns the EXIF orientation of an image file, 1 to 8; 1 if it has none.
func orientation(format string, file []byte) int {
	var exif []byte
	switch format {
	case "jpeg":
		exif = exifOfJPEG(file)
	case "png":
		exif = chunk(file, 8, true)
	case "webp":
		exif = bytes.TrimPrefix(chunk(file, 12, false), []byte("Exif\x00\x00"))
	}
	if o := orientationTag(exif); o >= 1 && o <= 8 {
		return o
	}
	return 1
}

// exifOfJPEG returns the TIFF structure in the first APP1 segment of EXIF.
func exifOfJPEG(file []byte) []byte {
	for at := 2; at+4 <= len(file) && file[at] == 0xff; {
		marker := file[at+1]
		if marker == 0xff { // fill
			at++
			continue
		}
		if marker == 0xda || marker == 0xd9 { // pixels, end
			return nil
		}
		if marker == 0x01 || marker >= 0xd0 && marker <= 0xd7 { // without length
			at += 2
			continue
		}
		length := int(binary.BigEndian.Uint16(file[at+2:]))
		if length < 2 || length > len(file)-at-2 {
			return nil
		}
		if s, ok := bytes.CutPrefix(file[at+4:at+2+length], []byte("Exif\x00\x00")); ok && marker == 0xe1 {
			return s
		}
		at += 2 + length
	}
	return nil
}

// chunk returns the content of the chunk of EXIF in a PNG (whose lengths come first) or RIFF file.
func chunk(file []byte, at int, png bool) []byte {
	for at+8 <= len(file) {
		var n int64
		var name, rest []byte
		if png {
			n, name = int64(binary.BigEndian.Uint32(file[at:])), file[at+4:at+8]
		} else {
			name, n = file[at:at+4], int64(binary.LittleEndian.Uint32(file[at+4:]))
		}
		if rest = file[at+8:]; n > int64(len(rest)) {
			return nil
		}
		if string(name) == "eXIf" && png || string(name) == "EXIF" && !png {
			return rest[:n]
		}
		at += 8 + int(n)
		if png {
			at += 4 // the checksum
		} else {
			at += int(n & 1)
		}
	}
	return nil
}

// orientationTag returns the number of tag 0x0112 in the first directory of a TIFF structure; 0: none.
func orientationTag(b []byte) int {
	if len(b) < 8 {
		return 0
	}
	var order binary.ByteOrder = binary.LittleEndian
	switch string(b[:4]) {
	case "II*\x00":
	case "MM\x00*":
		order = binary.BigEndian
	default:
		return 0
	}
	at := int64(order.Uint32(b[4:]))
	if at+2 > int64(len(b)) {
		return 0
	}
	entries := b[at+2:]
	for range order.Uint16(b[at:]) {
		if len(entries) < 12 {
			return 0
		}
		const tag, short = 0x0112, 3
		if order.Uint16(entries) == tag && order.Uint16(entries[2:]) == short {
			return int(order.Uint16(entries[8:]))
		}
		entries = entries[12:]
	}
	return 0
}
