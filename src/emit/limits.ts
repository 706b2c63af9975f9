// How large a debug call may become. Bytes are those of JSON text in UTF-8, quotes and escapes included.

/** One attribute value, and a message. */
export const MAX_VALUE_BYTES = 8 * 1024;
/** A whole record: message, attributes and what we add to them. */
export const MAX_RECORD_BYTES = 64 * 1024;
/** Attributes of one call. With ours they stay within the 128 that an OpenTelemetry SDK keeps of a log record. */
export const MAX_ATTRIBUTES = 120;
/** Entries of one array, map, set or object below an attribute. */
export const MAX_ENTRIES = 1000;
/** Objects inside one another, the attribute's own included. */
export const MAX_DEPTH = 8;
/** A name of an attribute, or of a field below one. */
export const MAX_NAME_BYTES = 256;
