import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';
import { connect, type PeerCertificate, type SecureVersion } from 'node:tls';
import { section } from '../check.ts';
import { expect, show, skip } from '../expectation.ts';
import { type Answer, exchangeRaw, header, hostOf, portOf, tlsOptions } from '../http.ts';
import { evidence, PATHS, type Session } from '../session.ts';
import { discovery, health, status, wellKnown } from '../subject.ts';
import { switching } from '../switching.ts';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

async function isLoopback(url: URL): Promise<boolean> {
  const addresses = await lookup(hostOf(url), { all: true });
  return addresses.every(({ address }) => LOOPBACK.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4'));
}

function needTls({ target }: Session): void {
  if (target.url.protocol !== 'https:') skip('the server is spoken to without TLS, on loopback');
}

/** An answer of each required endpoint. */
const answers = evidence(
  async (session): Promise<readonly Answer[]> => [
    await wellKnown(session),
    await discovery(session),
    (await switching(session)).enable.answer,
    await status(session),
    await health(session),
  ],
);

/** Protocol and certificate of the handshake. They are inspected, not trusted: nothing is sent on the connection. */
const handshake = evidence(async ({ target }) => {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connect({ ...tlsOptions(target), rejectUnauthorized: false });
  socket.once('secureConnect', resolve);
  socket.once('error', reject);
  await promise;
  const facts = { version: socket.getProtocol(), certificate: socket.getPeerCertificate() };
  socket.destroy();
  return facts;
});

/** Whether a connection with at most this TLS version comes about. */
function connects({ target }: Session, maxVersion: SecureVersion): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  // Without the lower security level our own side would refuse the old versions, and the check would prove nothing.
  const socket = connect({ ...tlsOptions(target), minVersion: 'TLSv1', maxVersion, ciphers: 'DEFAULT:@SECLEVEL=0' });
  socket.once('secureConnect', () => resolve(true));
  socket.once('error', () => resolve(false));
  socket.setTimeout(5000, () => resolve(false));
  return promise.finally(() => socket.destroy());
}

function isSelfSigned({ subject, issuer }: PeerCertificate): boolean {
  return JSON.stringify(subject) === JSON.stringify(issuer);
}

const MEDIA_TYPE = /^application\/(vnd\.rdcp\.v1\+)?json\s*(;|$)/i;
const CHARSET = /;\s*charset="?([^";\s]+)/i;

export const transportChecks = section(1, 'Transport', [
  [
    'L1-TRAN-01',
    'MUST',
    'Without TLS the server is reached on loopback only',
    async ({ target }) => {
      if (target.url.protocol === 'https:') return;
      expect(await isLoopback(target.url), 'https, or a loopback address', target.url.host);
    },
  ],
  [
    'L1-TRAN-02',
    'MUST',
    'Bodies are application/json',
    async (s) => {
      for (const answer of await answers(s)) {
        const type = header(answer, 'content-type') ?? '';
        expect(MEDIA_TYPE.test(type), `${answer.request} as application/json`, show(type));
      }
    },
  ],
  [
    'L1-TRAN-03',
    'MUST',
    'Bodies are UTF-8, and a charset that is named is UTF-8',
    async (s) => {
      for (const answer of await answers(s)) {
        const charset = CHARSET.exec(header(answer, 'content-type') ?? '')?.[1] ?? 'utf-8';
        expect(charset.toLowerCase() === 'utf-8', `${answer.request} with charset utf-8`, charset);
        expect(answer.utf8, `${answer.request} to be UTF-8`, 'bytes that are not');
      }
    },
  ],
  [
    'L1-TRAN-04',
    'MUST',
    'HTTP/1.1 is spoken',
    async (s) => {
      const { httpVersion } = await discovery(s);
      expect(httpVersion === '1.1', 'HTTP/1.1', httpVersion);
    },
  ],
  [
    'L1-TRAN-05',
    'SHOULD',
    'Over TLS, answers carry Strict-Transport-Security',
    async (s) => {
      needTls(s);
      const value = header(await discovery(s), 'strict-transport-security');
      expect(/max-age="?[1-9]\d*/i.test(value ?? ''), 'a max-age above 0', show(value));
    },
  ],
  [
    'L1-TRAN-06',
    'SHOULD',
    'TLS 1.3 is spoken',
    async (s) => {
      needTls(s);
      const { version } = await handshake(s);
      expect(version === 'TLSv1.3', 'TLSv1.3', show(version));
    },
  ],
  [
    'L1-TRAN-07',
    'MUST',
    'TLS older than 1.2 is refused',
    async (s) => {
      needTls(s);
      expect(!(await connects(s, 'TLSv1.1')), 'no connection with TLS 1.1', 'a connection');
    },
  ],
  [
    'L1-TRAN-08',
    'MUST',
    'The certificate of a server beyond loopback is not self-signed',
    async (s) => {
      needTls(s);
      if (await isLoopback(s.target.url)) skip('the server is on loopback, not in production');
      const { certificate } = await handshake(s);
      expect(!isSelfSigned(certificate), 'an issuer other than the subject', show(certificate.subject));
    },
  ],
  [
    'L1-TRAN-09',
    'MUST',
    'The TLS port does not serve plain HTTP',
    async (s) => {
      needTls(s);
      const { url } = s.target;
      const plain = { url: new URL(`http://${url.hostname}:${portOf(url)}`) };
      const answer = await exchangeRaw(
        plain,
        `GET ${PATHS.wellKnown} HTTP/1.1\r\nHost: ${url.host}\r\nConnection: close\r\n\r\n`,
      );
      expect(answer === undefined || answer.status >= 300, 'no document', String(answer?.status));
    },
  ],
]);
