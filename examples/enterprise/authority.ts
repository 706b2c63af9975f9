import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';

/** A certificate authority in a folder: everything it makes lies there, next to its revocation list. */
export interface Authority {
  /** Writes `NAME.pem` and `NAME.key`. */
  issue(name: string, purpose: 'server' | 'client'): void;
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

/** Runs the openssl command, and says nothing unless it fails. */
export function openssl(...args: string[]): void {
  execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}

/** Makes the folder again. @param folder as seen from the current directory, where openssl will look for it later too */
export function createAuthority(folder: string): Authority {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(`${folder}/openssl.cnf`, configuration(folder));
  writeFileSync(`${folder}/issued.txt`, '');
  writeFileSync(`${folder}/crl-number`, '01\n');

  const by = ['-config', `${folder}/openssl.cnf`];
  const self = ['-x509', '-days', '30', '-subj', '/O=Example/CN=Example CA', '-extensions', 'authority'];
  openssl('req', ...by, ...NEW_KEY, ...self, '-keyout', `${folder}/ca.key`, '-out', `${folder}/ca.pem`);
  openssl('ca', ...by, '-gencrl', '-out', `${folder}/crl.pem`);

  return {
    issue(name, purpose) {
      const file = `${folder}/${name}`;
      const subject = ['-subj', `/O=Example/CN=${name}`];
      openssl('req', ...by, '-new', ...NEW_KEY, ...subject, '-keyout', `${file}.key`, '-out', `${file}.csr`);
      openssl('ca', ...by, '-batch', '-notext', '-extensions', purpose, '-in', `${file}.csr`, '-out', `${file}.pem`);
      rmSync(`${file}.csr`);
    },
  };
}

function configuration(folder: string): string {
  return `
[ca]
default_ca = example

[example]
database = ${folder}/issued.txt
new_certs_dir = ${folder}
crlnumber = ${folder}/crl-number
rand_serial = yes
certificate = ${folder}/ca.pem
private_key = ${folder}/ca.key
default_md = sha256
default_days = 30
default_crl_days = 30
policy = names

[names]
organizationName = supplied
commonName = supplied

[req]
distinguished_name = nobody
[nobody]

[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign

[server]
extendedKeyUsage = serverAuth
subjectAltName = DNS:localhost, IP:127.0.0.1

[client]
extendedKeyUsage = clientAuth
`;
}
