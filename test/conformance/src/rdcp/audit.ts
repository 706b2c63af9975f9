import { expectAt, expectOk } from '../body.ts';
import { section } from '../check.ts';
import { expect, isObject, type JsonObject, show, skip } from '../expectation.ts';
import { evidence, PATHS, type Session } from '../session.ts';
import { needCapability, subject } from '../subject.ts';
import { switching } from '../switching.ts';
import { oneOf, TIMESTAMP } from '../value-types.ts';

/** The trail after the suite has switched something. */
export const trail = evidence(async (session) => {
  await switching(session);
  const { admin } = session.credentials;
  const answer = await session.get(PATHS.audit, admin === undefined ? {} : { as: admin });
  if (answer.status === 404) skip('the server has no audit endpoint');
  if (answer.status === 403) skip('the credential may not read the trail (--admin-key or --admin-token)');
  return answer;
});

/**
 * The entries about requests that switched the category of the run. The shape around them is not specified. An expiry
 * has no user, so it is left out.
 */
async function ownEntries(session: Session): Promise<readonly JsonObject[]> {
  const { name } = await subject(session);
  const body = expectOk(await trail(session));
  const list = Object.values(body).find((value) => Array.isArray(value) && value.every(isObject));
  expect(Array.isArray(list), 'a list of entries in the answer', show(body));
  const own = list.filter(isObject).filter((entry) => {
    const text = JSON.stringify(entry);
    return text.includes(JSON.stringify(name)) && /"(enable|disable|toggle|reset)"/.test(text);
  });
  expect(own.length > 0, `entries about ${name}, which was switched`, `${list.length} entries, none about it`);
  return own;
}

/** A field whose name matches, at any depth, with something in it. */
function says(entry: unknown, name: RegExp): boolean {
  if (Array.isArray(entry)) return entry.some((element) => says(element, name));
  if (!isObject(entry)) return false;
  return Object.entries(entry).some(([field, value]) => (name.test(field) && !isEmpty(value)) || says(value, name));
}

function isEmpty(value: unknown): boolean {
  return value === '' || value === null || ['{}', '[]', undefined].includes(JSON.stringify(value));
}

export const auditChecks = [
  ...section(1, 'GET /rdcp/v1/audit', [
    [
      'L1-AUDT-01',
      'MUST',
      'The audit answer carries protocol rdcp/1.0',
      async (s) => expectAt(expectOk(await trail(s)), 'protocol', oneOf('rdcp/1.0')),
    ],
    [
      'L1-AUDT-02',
      'MUST',
      'An audit entry has a timestamp, UTC with milliseconds and Z',
      async (s) => {
        for (const entry of await ownEntries(s)) {
          const times = Object.entries(entry).filter(([field]) => /time|(^|_)at$/i.test(field));
          expect(
            times.some(([, value]) => TIMESTAMP.test(value)),
            'a timestamp',
            show(entry),
          );
        }
      },
    ],
    [
      'L1-AUDT-03',
      'MUST',
      'An audit entry names the action',
      async (s) => {
        const entries = JSON.stringify(await ownEntries(s));
        expect(entries.includes('"enable"') && entries.includes('"disable"'), 'the actions that were made', entries);
      },
    ],
    [
      'L1-AUDT-04',
      'MUST',
      'An audit entry has the authenticated identity',
      async (s) => {
        const bare = (await ownEntries(s)).find(
          (entry) => !says(entry, /user|client|identity|subject|actor|principal/i),
        );
        expect(bare === undefined, 'an identity', show(bare));
      },
    ],
    [
      'L1-AUDT-05',
      'MUST',
      'The audit trail holds no credential',
      async (s) => {
        const { text } = await trail(s);
        expect(!s.secrets().some((secret) => text.includes(secret)), 'no key and no token', 'one that was given');
      },
    ],
  ]),
  ...section(2, 'GET /rdcp/v1/audit', [
    [
      'L2-AUDT-01',
      'MUST',
      'An audit entry names the user',
      async (s) => {
        await needCapability(s, 'auditTrail');
        const bare = (await ownEntries(s)).find((entry) => !says(entry, /user|subject|^sub$/i));
        expect(bare === undefined, 'a user', show(bare));
      },
    ],
  ]),
  ...section(3, 'GET /rdcp/v1/audit', [
    [
      'L3-AUDT-01',
      'MUST',
      'An audit entry has compliance metadata',
      async (s) => {
        const bare = (await ownEntries(s)).find((entry) => !says(entry, /complian|retain|retention|hash|signature/i));
        expect(bare === undefined, 'compliance metadata', show(bare));
      },
    ],
    [
      'L3-AUDT-02',
      'MUST',
      'The full trail is kept: there is an entry for each of the switches that were made',
      async (s) => {
        const entries = await ownEntries(s);
        expect(entries.length >= 5, 'at least five entries', String(entries.length));
      },
    ],
  ]),
];
