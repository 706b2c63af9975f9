import { type Context, createContextKey, propagation, type Span, type SpanContext, trace } from '@opentelemetry/api';
import { TICKET_ENTRY } from '../../access/tickets/ticket.ts';
import type { ServedRequest, Work } from '../../gate/work.ts';
import { TICKET_ATTRIBUTE } from '../../wire/constants.ts';
import { carriedTicket } from './carried-ticket.ts';

const HEADER = 'http.request.header.';
const QUERY = 'url.query.';
/** The attributes of an HTTP request that are known from its beginning, unlike its route. */
const OF_REQUEST = /^(?:http\.request\.(?:method$|header\.)|client\.address$|url\.(?:path$|query\.))/;
/** Not kept when their work has ended. */
const LIVE_ONLY = /^(?:http\.request\.header\.|url\.query\.|rdcp\.ticket$)/;
/** Hold tickets, which could be guessed by matching their beginning. */
const SECRET = new Set([TICKET_ENTRY, `${HEADER}baggage`]);

/**
 * The context key under which OpenTelemetry's HTTP instrumentation puts the server span and the route that a framework's
 * instrumentation has found. `getRPCMetadata` is in `@opentelemetry/core`, which we do not depend on.
 */
const RPC_METADATA = createContextKey('OpenTelemetry SDK Context Key RPC_METADATA');

interface RpcMetadata {
  readonly route?: unknown;
  readonly span?: Span;
}

/** Where the attributes of a debug call's work come from: the work, and the active context of OpenTelemetry. */
export interface Surroundings {
  readonly work: Work | undefined;
  readonly active: Context;
}

/** The parameters of each request's query: it is parsed once, however many debug calls the request makes. */
const queries = new WeakMap<ServedRequest, URLSearchParams>();

/**
 * An attribute of work, from the first source that has it: what the application has set, the HTTP request, W3C
 * baggage, the active span, the span of the request. The ticket is known by its SHA-256. The request comes before baggage, which a client can fill with any names.
 */
export function attributeOfWork({ work, active }: Surroundings, name: string): string | undefined {
  if (name === TICKET_ATTRIBUTE) return carriedTicket({ work, active });
  if (SECRET.has(name.toLowerCase())) return undefined;
  const own = work?.attributes.get(name) ?? (work?.request && attributeOfRequest(work.request, name));
  if (own !== undefined || (work !== undefined && isSettled(work, name))) return own;
  return attributeOfContext(active, name);
}

/** Whether work can be found by it only until it ends. */
export function isLiveOnly(name: string): boolean {
  return LIVE_ONLY.test(name);
}

/** The entries of W3C baggage that are attributes of work. */
export function baggageOf(active: Context): readonly (readonly [name: string, value: string])[] {
  const baggage = propagation.getBaggage(active);
  if (baggage === undefined) return [];
  const isShown = (name: string, value: unknown) => !SECRET.has(name.toLowerCase()) && typeof value === 'string';
  return baggage.getAllEntries().flatMap(([name, { value }]) => (isShown(name, value) ? [[name, value] as const] : []));
}

/** Names of attributes that work has, those that the application has set first. */
export function* attributeNamesOfWork({ work, active }: Surroundings): Generator<string> {
  const { attributes, request } = work ?? {};
  if (attributes !== undefined) yield* attributes.keys();
  for (const [name] of baggageOf(active)) yield name;
  if (request !== undefined)
    yield* ['http.request.method', 'url.path', ...(request.route === undefined ? [] : ['http.route'])];
  yield* Object.keys(attributesOf(trace.getSpan(active)));
}

/** Whether an attribute of work stays as it is until the application sets it. */
export function isSettled({ attributes, request }: Work, name: string): boolean {
  return attributes.has(name) || (request !== undefined && OF_REQUEST.test(name));
}

/**
 * The span of the request, or the active one of a context where it has no parent in this process. Spans of OpenTelemetry's SDK show their
 * parent, which the API's interface does not have.
 */
export function localRootSpan(active: Context): Span | undefined {
  const metadata = active.getValue(RPC_METADATA) as RpcMetadata | undefined;
  if (metadata?.span !== undefined) return metadata.span;
  const span = trace.getSpan(active);
  const { parentSpanContext } = (span ?? {}) as { readonly parentSpanContext?: SpanContext };
  return parentSpanContext === undefined || parentSpanContext.isRemote === true ? span : undefined;
}

function attributeOfContext(active: Context, name: string): string | undefined {
  const metadata = active.getValue(RPC_METADATA) as RpcMetadata | undefined;
  return (
    (name === 'http.route' ? textOf(metadata?.route) : undefined) ??
    textOf(propagation.getBaggage(active)?.getEntry(name)?.value) ??
    attributeOfSpan(trace.getSpan(active), name) ??
    attributeOfSpan(metadata?.span, name)
  );
}

/** Names as in OpenTelemetry's semantic conventions for HTTP, and `url.query.NAME` for one parameter of the query. */
function attributeOfRequest(request: ServedRequest, name: string): string | undefined {
  if (name === 'http.request.method') return request.method;
  if (name === 'http.route') return request.route;
  if (name === 'client.address') return request.address;
  if (name.startsWith(HEADER)) return request.header(name.slice(HEADER.length).toLowerCase());
  if (name === 'url.path') return pathOf(request.target);
  return name.startsWith(QUERY) ? (queryOf(request).get(name.slice(QUERY.length)) ?? undefined) : undefined;
}

export function pathOf(target: string): string {
  const end = target.indexOf('?');
  return end === -1 ? target : target.slice(0, end);
}

function queryOf(request: ServedRequest): URLSearchParams {
  const known = queries.get(request);
  if (known !== undefined) return known;
  const from = request.target.indexOf('?');
  const query = new URLSearchParams(from === -1 ? '' : request.target.slice(from));
  queries.set(request, query);
  return query;
}

/** Spans of OpenTelemetry's SDK show their attributes, which the API's interface does not have. */
function attributeOfSpan(span: Span | undefined, name: string): string | undefined {
  const attributes = attributesOf(span);
  return Object.hasOwn(attributes, name) ? textOf(attributes[name]) : undefined;
}

function attributesOf(span: Span | undefined): Readonly<Record<string, unknown>> {
  const { attributes = {} } = (span ?? {}) as { readonly attributes?: Readonly<Record<string, unknown>> };
  return attributes;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : undefined;
}
