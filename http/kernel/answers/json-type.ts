// The media type of every JSON answer, errors included. Without parameters: JSON is UTF-8 by definition (RFC 8259, 8.1), and
// deployed clients compare the header with this very text.

export const JSON_TYPE = 'application/json';
