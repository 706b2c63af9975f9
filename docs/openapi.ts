// The OpenAPI document of the endpoint: request bodies and parameters from the schemas that check them, answers from the types
// of the protocol with their comments. The build writes it to dist/openapi.json.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { API, type Checker, SymbolFlags, type Type, TypeFlags, type TypeReference } from 'typescript/unstable/sync';
import { z } from 'zod';
import { GRANT_TYPES } from '../src/access/tokens/service.ts';
import { scopesOfTenants } from '../src/endpoint/middleware/access.ts';
import { AUDIT_QUERY } from '../src/endpoint/routes/audit.ts';
import { consoleSessionSchema } from '../src/endpoint/routes/console.ts';
import type { QuerySchemas } from '../src/endpoint/routes/query.ts';
import { TAIL_QUERY } from '../src/endpoint/routes/tail.ts';
import { ROUTES, type Route } from '../src/endpoint/routes.ts';
import { alertNotificationSchema } from '../src/wire/alert-notification.ts';
import {
  CONSOLE_PATHS,
  EVENT_STREAM_MEDIA_TYPE,
  HEADERS,
  JSON_MEDIA_TYPE,
  MAX_BODY_BYTES,
  PATHS,
  RDCP_MEDIA_TYPE,
  TOKEN_PATHS,
} from '../src/wire/constants.ts';
import { approvalRequestSchema, controlRequestSchema } from '../src/wire/control-request.ts';
import { IDENTIFIER } from '../src/wire/names.ts';
import { failuresRequestSchema, forecastRequestSchema, tailRequestSchema } from '../src/wire/stream-requests.ts';

const ROOT = join(import.meta.dirname, '..');

type Schema = Readonly<Record<string, unknown>>;

interface Operation {
  readonly id: string;
  readonly summary: string;
  readonly query?: QuerySchemas;
  readonly body?: z.ZodType;
  /** Fields of a form, as OAuth has it. */
  readonly form?: Schema;
  /** Name of the answer's type. */
  readonly answer: string;
  /** Whether the answer is a stream of such events. */
  readonly stream?: boolean;
}

const text = { type: 'string' };
const CLIENT = { client_id: text, client_secret: text };
const TOKEN = { type: 'object', required: ['token'], properties: { token: text, token_type_hint: text, ...CLIENT } };

const OPERATIONS: Readonly<Record<string, { readonly get?: Operation; readonly post?: Operation }>> = {
  [PATHS.wellKnown]: {
    get: { id: 'getCapabilities', summary: 'What this server can do', answer: 'WellKnownDocument' },
  },
  [PATHS.discovery]: {
    get: { id: 'discover', summary: 'Lists the categories', answer: 'DiscoveryResponse' },
  },
  [PATHS.control]: {
    post: {
      id: 'control',
      summary: 'Switches categories',
      body: controlRequestSchema,
      answer: 'ControlResponse',
    },
  },
  [PATHS.status]: {
    get: {
      id: 'getStatus',
      summary: 'Says which categories are on',
      answer: 'StatusResponse',
    },
  },
  [PATHS.health]: {
    get: { id: 'getHealth', summary: 'Says whether the server works', answer: 'HealthResponse' },
  },
  [PATHS.metrics]: {
    get: {
      id: 'getMetrics',
      summary: 'Measurements of process and categories',
      answer: 'MetricsResponse',
    },
  },
  [PATHS.tenants]: {
    get: { id: 'listTenants', summary: 'Lists the tenants', answer: 'TenantsResponse' },
  },
  [PATHS.audit]: {
    get: {
      id: 'queryAudit',
      summary: 'Reads the audit trail, newest first',
      query: AUDIT_QUERY,
      answer: 'AuditResponse',
    },
  },
  [PATHS.session]: {
    get: { id: 'getSession', summary: 'Identity and scopes of the credential', answer: 'SessionResponse' },
  },
  [PATHS.fleet]: {
    get: {
      id: 'getFleet',
      summary: 'Lists the processes that share the store',
      answer: 'FleetResponse',
    },
  },
  [PATHS.notifications]: {
    get: {
      id: 'getNotifications',
      summary: 'The receivers of notifications and the last deliveries to them',
      answer: 'NotificationsResponse',
    },
  },
  [PATHS.approvals]: {
    get: {
      id: 'listApprovals',
      summary: 'Lists the changes that wait for an approval',
      answer: 'ApprovalsResponse',
    },
  },
  [PATHS.approve]: {
    post: {
      id: 'approve',
      summary: 'Makes a change that waits for an approval, or declines it',
      body: approvalRequestSchema,
      answer: 'ControlResponse',
    },
  },
  [PATHS.forecast]: {
    post: {
      id: 'forecast',
      summary: 'Measures what categories would emit if they were on',
      body: forecastRequestSchema,
      answer: 'ForecastResponse',
    },
  },
  [PATHS.failures]: {
    post: {
      id: 'listFailures',
      summary: 'Lists the newest work that failed or was slow, so far as it was recorded; the scope is that of a tail',
      body: failuresRequestSchema,
      answer: 'FailuresResponse',
    },
  },
  [PATHS.tail]: {
    get: {
      id: 'tail',
      summary: 'Streams the lines of categories to this reader alone; the scope is configured',
      query: TAIL_QUERY,
      answer: 'TailEvent',
      stream: true,
    },
    post: {
      id: 'tailBy',
      summary: 'As GET, for lines of some work or that pass a filter alone',
      body: tailRequestSchema,
      answer: 'TailEvent',
      stream: true,
    },
  },
  [PATHS.events]: {
    get: {
      id: 'watch',
      summary: 'Streams the state and its changes',
      answer: 'StateEvent',
      stream: true,
    },
  },
  [PATHS.alerts]: {
    post: {
      id: 'notifyAlerts',
      summary: 'Switches what the rules of the server say for the alerts of Alertmanager or Grafana',
      body: alertNotificationSchema,
      answer: 'AlertsResponse',
    },
  },
  [PATHS.openapi]: {
    get: { id: 'getOpenApi', summary: 'This document', answer: 'OpenApiDocument' },
  },
  [CONSOLE_PATHS.code]: {
    post: { id: 'createConsoleCode', summary: 'Makes a one-time code for the console', answer: 'ConsoleCodeResponse' },
  },
  [CONSOLE_PATHS.session]: {
    post: {
      id: 'redeemConsoleCode',
      summary: 'Exchanges a one-time code for its credential',
      body: consoleSessionSchema,
      answer: 'ConsoleSessionResponse',
    },
  },
  [TOKEN_PATHS.token]: {
    post: {
      id: 'issueToken',
      summary: 'Issues, exchanges or refreshes a token (RFC 6749, RFC 8693)',
      form: {
        type: 'object',
        required: ['grant_type'],
        properties: {
          grant_type: { enum: GRANT_TYPES },
          scope: text,
          refresh_token: text,
          subject_token: text,
          subject_token_type: text,
          ...CLIENT,
        },
      },
      answer: 'TokenResponse',
    },
  },
  [TOKEN_PATHS.revoke]: {
    post: {
      id: 'revokeToken',
      summary: 'Ends the session of a token (RFC 7009)',
      form: TOKEN,
      answer: 'RdcpAnswer',
    },
  },
  [TOKEN_PATHS.jwks]: {
    get: { id: 'getKeys', summary: 'Public keys that verify tokens (RFC 7517)', answer: 'KeySet' },
  },
  [TOKEN_PATHS.metadata]: {
    get: {
      id: 'getOAuthMetadata',
      summary: 'Metadata for OAuth clients (RFC 8414)',
      answer: 'AuthorizationServerMetadata',
    },
  },
};

/** Answers that other standards define. */
const FOREIGN: Readonly<Record<string, Schema>> = {
  OpenApiDocument: {
    type: 'object',
    description: 'An OpenAPI document (OpenAPI 3.1).',
    required: ['openapi', 'info', 'paths'],
    properties: { openapi: text, info: { type: 'object' }, paths: { type: 'object' } },
    additionalProperties: true,
  },
  KeySet: {
    type: 'object',
    description: 'A set of public keys (RFC 7517).',
    required: ['keys'],
    properties: { keys: { type: 'array', items: { type: 'object' } } },
    additionalProperties: true,
  },
};

const OAUTH: ReadonlySet<string> = new Set(Object.values(TOKEN_PATHS));

/** Of every endpoint, whatever a server is configured to have. */
export function openApiDocument(): object {
  const { version, license } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const schemas = answerSchemas(
    [...Object.values(OPERATIONS).flatMap(({ get, post }) => [get, post])]
      .flatMap((operation) => operation?.answer ?? [])
      .concat('ErrorResponse', 'OAuthErrorResponse'),
  );
  const paths = Object.entries(OPERATIONS).map(([path, operations]) => [
    path,
    Object.fromEntries(
      Object.entries(operations).map(([method, operation]) => [method, described(operation, routeOf(method, path))]),
    ),
  ]);
  return {
    openapi: '3.1.1',
    info: {
      title: 'Runtime Debug Control Protocol',
      version,
      license: { name: license, identifier: license },
      description:
        'Remote control of the debug output of a running service: RDCP 1.0 and the additions of this server.',
    },
    servers: [{ url: '/', description: 'The server that has this document' }],
    security: [{ apiKey: [] }, { bearer: [] }, { certificate: [] }],
    paths: Object.fromEntries(paths),
    components: {
      schemas,
      parameters: Object.fromEntries(
        PARAMETERS.map(({ name, description }) => [
          name,
          { name, in: 'header', description, schema: { type: 'string', pattern: IDENTIFIER.source } },
        ]),
      ),
      responses: {
        Error: { description: 'An error', content: inMediaTypes(reference('ErrorResponse')) },
        OAuthError: {
          description: 'An error of OAuth',
          content: { [JSON_MEDIA_TYPE]: { schema: reference('OAuthErrorResponse') } },
        },
      },
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: HEADERS.apiKey },
        bearer: { type: 'http', scheme: 'bearer' },
        certificate: { type: 'mutualTLS' },
      },
    },
  };
}

const PARAMETERS = [
  { name: HEADERS.requestId, description: 'Of a repeat, so that it has no second effect. Made up where it is absent.' },
  { name: HEADERS.clientId, description: 'A label for the audit trail. It grants nothing.' },
  { name: HEADERS.tenantId, description: 'The tenant that is meant, for a credential that may name one.' },
];

function described(
  { id, summary, query = {}, body, form, answer, stream }: Operation,
  [, path, credential, , scopes, , bounds]: Route,
) {
  const open = credential !== 'required' && credential !== 'webhook';
  const maximum = bounds === '-' ? MAX_BODY_BYTES : bounds.bytes;
  const content = body ? inMediaTypes(inputOf(body)) : { 'application/x-www-form-urlencoded': { schema: form } };
  const ok = stream === true ? streamOf(answer) : inMediaTypes(reference(answer));
  return {
    operationId: id,
    summary,
    ...(scopeText(scopes) && !open && { description: `Needs the scope ${scopeText(scopes)}.` }),
    ...(open && { security: [{}, { apiKey: [] }, { bearer: [] }, { certificate: [] }] }),
    parameters: [
      ...Object.entries(query).map(([name, { schema, allowed }]) => ({
        name,
        in: 'query',
        required: schema.required === true,
        description: allowed,
        schema: Object.fromEntries(Object.entries(schema).filter(([member]) => member !== 'required')),
      })),
      ...PARAMETERS.map(({ name }) => ({ $ref: `#/components/parameters/${name}` })),
    ],
    ...((body ?? form) && {
      requestBody: { required: true, description: `At most ${maximum} bytes of UTF-8.`, content },
    }),
    responses: {
      200: { description: summary, content: ok },
      ...(answer === 'HealthResponse' && { 503: { description: 'The service is unhealthy', content: ok } }),
      default: { $ref: `#/components/responses/${OAUTH.has(path) ? 'OAuthError' : 'Error'}` },
    },
  };
}

function routeOf(method: string, path: string): Route {
  const route = ROUTES.find(([of, at]) => of === method.toUpperCase() && at === path);
  if (route === undefined) throw new Error(`no route ${method} ${path}`);
  return route;
}

/** The scopes of a tail, which are configured, are in its summary. */
function scopeText(scopes: Route[4]): string {
  if (scopes === scopesOfTenants) return 'admin';
  return Array.isArray(scopes) ? scopes.join(' or ') : '';
}

function inMediaTypes(schema: Schema) {
  return { [JSON_MEDIA_TYPE]: { schema }, [RDCP_MEDIA_TYPE]: { schema } };
}

/** OpenAPI 3.1 cannot describe the events of a stream. */
function streamOf(event: string) {
  const description = `Server-sent events: for each, \`event\` and the JSON of \`data\` are those of ${event}.`;
  return { [EVENT_STREAM_MEDIA_TYPE]: { schema: { type: 'string', description }, 'x-event': reference(event) } };
}

function reference(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

/** What a schema accepts. */
function inputOf(schema: z.ZodType): Schema {
  const { $schema: _, ...accepted } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return accepted;
}

/** The schemas of types of the protocol by their names, and of those that they refer to. */
function answerSchemas(names: readonly string[]): Readonly<Record<string, Schema>> {
  const api = new API({ cwd: ROOT });
  try {
    const [project] = api.updateSnapshot({ openProjects: [join(ROOT, 'tsconfig.build.json')] }).getProjects();
    if (project === undefined) throw new Error('tsconfig.build.json is no project');
    const { checker, program } = project;
    const types = new Map<string, Type>();
    for (const file of ['messages', 'audit-messages', 'oauth-messages', 'streams', 'alert-notification', 'emission']) {
      const source = program.getSourceFile(join(ROOT, `src/wire/${file}.ts`));
      const module = source && checker.getSymbolAtLocation(source);
      for (const symbol of module ? checker.getExportsOfModule(module) : []) {
        const type = checker.getDeclaredTypeOfSymbol(symbol);
        if (type !== undefined) types.set(symbol.name, type);
      }
    }
    return new AnswerSchemas(checker, types).of(names);
  } finally {
    api.close();
  }
}

class AnswerSchemas {
  readonly #checker: Checker;
  readonly #types: ReadonlyMap<string, Type>;
  readonly #schemas: Record<string, Schema> = { ...FOREIGN };

  constructor(checker: Checker, types: ReadonlyMap<string, Type>) {
    this.#checker = checker;
    this.#types = types;
  }

  of(names: readonly string[]): Readonly<Record<string, Schema>> {
    for (const name of names) this.#define(name);
    return this.#schemas;
  }

  #define(name: string): Schema {
    const type = this.#types.get(name);
    if (this.#schemas[name] === undefined) {
      if (type === undefined) throw new Error(`src/wire has no type ${name}`);
      // What refers to itself meets the reference.
      this.#schemas[name] = {};
      const description = type.getSymbol()?.getDocumentationComment(this.#checker).replaceAll('\n', ' ') ?? '';
      this.#schemas[name] = { ...(description !== '' && { description }), ...this.#structure(type) };
    }
    return reference(name);
  }

  #schema(type: Type): Schema {
    if (type.getAliasSymbol()?.name === 'JsonValue') return {};
    const symbol = type.getSymbol();
    const named = symbol !== undefined && (symbol.flags & SymbolFlags.Interface) !== 0 && this.#types.has(symbol.name);
    return named ? this.#define(symbol.name) : this.#structure(type);
  }

  #structure(type: Type): Schema {
    const checker = this.#checker;
    const { flags } = type;
    if (type.isUnionType()) return this.#union(type.getTypes() ?? []);
    if (type.isLiteralType()) return { const: type.value };
    if (flags & TypeFlags.String) return { type: 'string' };
    if (flags & TypeFlags.Number) return { type: 'number' };
    if (flags & TypeFlags.Boolean) return { type: 'boolean' };
    if (flags & TypeFlags.Null) return { type: 'null' };
    if (flags & (TypeFlags.Unknown | TypeFlags.Any)) return {};
    if (checker.isArrayType(type)) {
      const [item] = checker.getTypeArguments(type as TypeReference);
      return { type: 'array', items: item === undefined ? {} : this.#schema(item) };
    }
    const properties = checker.getPropertiesOfType(type);
    const [entry] = checker.getIndexInfosOfType(type);
    const required = properties.filter((property) => (property.flags & SymbolFlags.Optional) === 0);
    return {
      type: 'object',
      ...(required.length > 0 && { required: required.map(({ name }) => name) }),
      ...(properties.length > 0 && {
        properties: Object.fromEntries(
          properties.map((property) => {
            const of = checker.getTypeOfSymbol(property);
            const description = property.getDocumentationComment(checker).replaceAll('\n', ' ');
            return [property.name, { ...(description !== '' && { description }), ...(of && this.#schema(of)) }];
          }),
        ),
      }),
      ...(entry !== undefined && { additionalProperties: this.#schema(entry.valueType) }),
    };
  }

  #union(members: readonly Type[]): Schema {
    const present = members.filter(({ flags }) => (flags & TypeFlags.Undefined) === 0);
    const schemas = present.map((member) => this.#schema(member));
    const constants = schemas.map((schema) => ('const' in schema ? schema.const : undefined));
    if (schemas.length === 1) return schemas[0]!;
    if (constants.every((value) => typeof value === 'boolean')) return { type: 'boolean' };
    if (constants.every((value) => value !== undefined)) return { enum: constants };
    return { anyOf: schemas };
  }
}
