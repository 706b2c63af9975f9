// Size limits of a debug call. Bytes are those of JSON in UTF-8, including quotes and escapes.

/** One attribute value, or a message. */
export const MAX_VALUE_BYTES = 8 * 1024;
/** A whole record: message, attributes and the fields that we add. */
export const MAX_RECORD_BYTES = 64 * 1024;
/** Attributes of one call. With our own they stay within the SDK's default limit of 128 per log record. */
export const MAX_ATTRIBUTES = 120;
/** Entries of one array, map, set or object below an attribute. */
export const MAX_ENTRIES = 1000;
/** Nesting depth of objects, including the attribute's own value. */
export const MAX_DEPTH = 8;
/** A name of an attribute, or of a field below one. */
export const MAX_NAME_BYTES = 256;
