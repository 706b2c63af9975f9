import type { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';

/** The types of names as Node writes them. */
const TYPES: Readonly<Record<string, string>> = {
  dns: 'DNS',
  uri: 'URI',
  email: 'email',
  'ip address': 'IP Address',
  ip: 'IP Address',
};
const TYPED = /^(DNS|URI|email|IP Address|IP):(.*)$/is;

/**
 * The alternative names of a certificate, `DNS:ops.example`, in a form that compares. Node quotes a name that holds a
 * comma or a quote, and escapes both inside the quotes, so that one name cannot pass for two.
 */
export function alternativeNames({ subjectAltName }: X509Certificate): string[] {
  if (subjectAltName === undefined) return [];
  return subjectAltName.split(', ').flatMap((entry) => {
    const [, type = '', value = ''] = TYPED.exec(entry) ?? [];
    return type === '' ? [] : [comparable(type, unquote(value))];
  });
}

/** A name as the operator wrote it. One without a type is what it looks like. */
export function configuredAlternativeName(name: string): string {
  const [, type, value] = TYPED.exec(name) ?? [];
  if (type !== undefined && value !== undefined) return comparable(type, value);
  if (name.includes('://')) return comparable('URI', name);
  if (name.includes('@')) return comparable('email', name);
  return comparable(isIP(name) === 0 ? 'DNS' : 'IP Address', name);
}

function comparable(type: string, value: string): string {
  const kind = TYPES[type.toLowerCase()];
  if (kind === 'DNS') return `DNS:${value.toLowerCase()}`;
  if (kind === 'IP Address') return `IP Address:${isIP(value) === 6 ? new URL(`http://[${value}]`).hostname : value}`;
  return `${kind}:${value}`;
}

function unquote(value: string): string {
  return value.startsWith('"') ? String(JSON.parse(value)) : value;
}

/** The subject of a certificate from either end: RFC 4514 writes it the other way round than the certificate has it. */
export function subjectOf({ subject }: X509Certificate): string[] {
  // An empty subject is `undefined` here, whatever the type says.
  const parts = (subject as string | undefined)?.split('\n').map(attribute) ?? [];
  return parts.length === 0 ? [] : [parts.join('\n'), parts.toReversed().join('\n')];
}

/** A subject as the operator wrote it: with commas, or as Node shows it, with line feeds. */
export function configuredSubject(subject: string): string {
  return subject
    .split(/\n|(?<!\\),/)
    .map(attribute)
    .join('\n');
}

/** The names of attributes compare without case; their values do not. */
function attribute(text: string): string {
  const [, name = '', value = ''] = /^\s*([^=]*?)\s*=\s*(.*?)\s*$/s.exec(text) ?? [];
  return `${name.toUpperCase()}=${value}`;
}
