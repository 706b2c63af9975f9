import { expectAt, expectOk, expectVendorFields, expectVendorFieldsAt, valueAt } from '../body.ts';
import { type Row, section } from '../check.ts';
import { expect, show } from '../expectation.ts';
import { PATHS } from '../session.ts';
import { wellKnown } from '../subject.ts';
import { ARRAY, BOOLEAN, OBJECT, oneOf, PATH } from '../value-types.ts';

const ENDPOINTS = ['discovery', 'control', 'status', 'health'] as const;
const CAPABILITIES = ['multiTenancy', 'performanceMetrics', 'temporaryControls', 'auditTrail'] as const;
const SECURITY_FIELDS = ['level', 'methods', 'scopes', 'required', 'keyRotation', 'tokenRefresh'] as const;
export const SCOPES = ['discovery', 'status', 'control', 'admin'] as const;

/** The methods that a level asks for (Authentication). */
const METHODS_OF_LEVEL: Readonly<Record<string, readonly string[]>> = {
  basic: ['api-key'],
  standard: ['bearer'],
  enterprise: ['mtls', 'bearer'],
};

export const wellKnownChecks = [
  ...section(1, 'GET /.well-known/rdcp', [
    [
      'L1-WELL-01',
      'MUST',
      'The document is there: 200 and a JSON object',
      async (s) => void expectOk(await wellKnown(s)),
    ],
    [
      'L1-WELL-02',
      'MUST',
      'Its protocol is rdcp/1.0',
      async (s) => expectAt((await wellKnown(s)).body, 'protocol', oneOf('rdcp/1.0')),
    ],
    ...ENDPOINTS.map(
      (name, index): Row => [
        `L1-WELL-0${index + 3}`,
        'MUST',
        `endpoints.${name} is a path`,
        async (s) => expectAt((await wellKnown(s)).body, `endpoints.${name}`, PATH),
      ],
    ),
    [
      'L1-WELL-07',
      'MUST',
      'The endpoints named are the paths that the specification requires',
      async (s) => {
        for (const name of ENDPOINTS) {
          const path = valueAt((await wellKnown(s)).body, `endpoints.${name}`);
          expect(String(path).endsWith(PATHS[name]), `endpoints.${name} to be ${PATHS[name]}`, path);
        }
      },
    ],
    ...CAPABILITIES.map(
      (name, index): Row => [
        `L1-WELL-${String(index + 8).padStart(2, '0')}`,
        'MUST',
        `capabilities.${name} is a boolean`,
        async (s) => expectAt((await wellKnown(s)).body, `capabilities.${name}`, BOOLEAN),
      ],
    ),
    [
      'L1-WELL-12',
      'MUST',
      'security.level is basic, standard or enterprise',
      async (s) => expectAt((await wellKnown(s)).body, 'security.level', oneOf('basic', 'standard', 'enterprise')),
    ],
    [
      'L1-WELL-13',
      'MUST',
      'security.methods lists api-key, bearer or mtls and nothing else',
      async (s) => {
        const { body } = await wellKnown(s);
        expectAt(body, 'security.methods', ARRAY);
        expectAt(body, 'security.methods[]', oneOf('api-key', 'bearer', 'mtls'));
      },
    ],
    [
      'L1-WELL-14',
      'MUST',
      'security.scopes lists discovery, status, control or admin and nothing else',
      async (s) => {
        const { body } = await wellKnown(s);
        expectAt(body, 'security.scopes', ARRAY);
        expectAt(body, 'security.scopes[]', oneOf(...SCOPES));
      },
    ],
    [
      'L1-WELL-15',
      'MUST',
      'security.required is a boolean',
      async (s) => expectAt((await wellKnown(s)).body, 'security.required', BOOLEAN),
    ],
    [
      'L1-WELL-16',
      'MUST',
      'security.keyRotation is a boolean',
      async (s) => expectAt((await wellKnown(s)).body, 'security.keyRotation', BOOLEAN),
    ],
    [
      'L1-WELL-17',
      'MUST',
      'security.tokenRefresh is a boolean',
      async (s) => expectAt((await wellKnown(s)).body, 'security.tokenRefresh', BOOLEAN),
    ],
    [
      'L1-WELL-18',
      'SHOULD',
      'The document can be read before an authentication method was chosen, so without a credential',
      async (s) => void expectOk(await s.get(PATHS.wellKnown, { as: 'nobody' })),
    ],
  ]),
  ...section(1, 'Authentication', [
    [
      'L1-AUTH-01',
      'MUST',
      'All four scopes are supported, so security.scopes lists each',
      async (s) => {
        const scopes = valueAt((await wellKnown(s)).body, 'security.scopes');
        const missing = SCOPES.filter((scope) => !Array.isArray(scopes) || !scopes.includes(scope));
        expect(missing.length === 0, `security.scopes to list ${SCOPES.join(', ')}`, show(scopes));
      },
    ],
    [
      'L1-AUTH-02',
      'MUST',
      'security.methods holds the methods that the declared security level requires',
      async (s) => {
        const { body } = await wellKnown(s);
        const methods = valueAt(body, 'security.methods');
        const required = METHODS_OF_LEVEL[String(valueAt(body, 'security.level'))] ?? [];
        const missing = required.filter((method) => !Array.isArray(methods) || !methods.includes(method));
        expect(missing.length === 0, `security.methods to hold ${required.join(' and ')}`, show(methods));
      },
    ],
  ]),
  ...section(1, 'Extensibility', [
    [
      'L1-EXT-01',
      'MUST',
      'Fields added to the well-known document carry a vendor prefix',
      async (s) => {
        const { body } = await wellKnown(s);
        expectAt(body, 'security', OBJECT);
        expectVendorFields(body, 'the document', ['protocol', 'endpoints', 'capabilities', 'security', 'tenant']);
        expectVendorFieldsAt(body, 'capabilities', CAPABILITIES);
        expectVendorFieldsAt(body, 'security', SECURITY_FIELDS);
      },
    ],
  ]),
];
