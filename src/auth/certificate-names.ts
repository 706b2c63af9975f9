import type { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';

/** Node's names of the alternative name types. */
const TYPES: Readonly<Record<string, string>> = {
  dns: 'DNS',
  uri: 'URI',
  email: 'email',
  'ip address': 'IP Address',
  ip: 'IP Address',
};
const TYPED = /^(DNS|URI|email|IP Address|IP):(.*)$/is;

/**
 * Returns the normalized alternative names of a certificate, such as `DNS:ops.example`. Node quotes names that contain a
 * comma or a quote, so that one name cannot be read as two.
 */
export function alternativeNames({ subjectAltName }: X509Certificate): string[] {
  if (subjectAltName === undefined) return [];
  return subjectAltName.split(', ').flatMap((entry) => {
    const [, type = '', value = ''] = TYPED.exec(entry) ?? [];
    return type === '' ? [] : [normalize(type, unquote(value))];
  });
}

/** Returns a configured name, normalized. Infers the type of a name without one. */
export function configuredAlternativeName(name: string): string {
  const [, type, value] = TYPED.exec(name) ?? [];
  if (type !== undefined && value !== undefined) return normalize(type, value);
  if (name.includes('://')) return normalize('URI', name);
  if (name.includes('@')) return normalize('email', name);
  return normalize(isIP(name) === 0 ? 'DNS' : 'IP Address', name);
}

function normalize(type: string, value: string): string {
  const kind = TYPES[type.toLowerCase()];
  if (kind === 'DNS') return `DNS:${value.toLowerCase()}`;
  if (kind === 'IP Address') return `IP Address:${isIP(value) === 6 ? new URL(`http://[${value}]`).hostname : value}`;
  return `${kind}:${value}`;
}

function unquote(value: string): string {
  return value.startsWith('"') ? String(JSON.parse(value)) : value;
}

/** Returns the subject of a certificate in both orders: RFC 4514 reverses the order of the certificate. */
export function subjectOf({ subject }: X509Certificate): string[] {
  // An empty subject is `undefined`, despite the type.
  const parts = (subject as string | undefined)?.split('\n').map(attribute) ?? [];
  return parts.length === 0 ? [] : [parts.join('\n'), parts.toReversed().join('\n')];
}

/** Returns a configured subject, normalized. Parts are separated by commas, or by line feeds as in Node. */
export function configuredSubject(subject: string): string {
  return subject
    .split(/\n|(?<!\\),/)
    .map(attribute)
    .join('\n');
}

/** Attribute names are case-insensitive; values are case-sensitive. */
function attribute(text: string): string {
  const [, name = '', value = ''] = /^\s*([^=]*?)\s*=\s*(.*?)\s*$/s.exec(text) ?? [];
  return `${name.toUpperCase()}=${value}`;
}
