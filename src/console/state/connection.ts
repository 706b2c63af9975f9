import { type ControlCommand, createRdcpClient, isRdcpError, type RdcpClient, type Scope } from '../../client.ts';
import { EVERYBODY } from '../../protocol/constants.ts';
import type { ControlResponse, SessionResponse } from '../../protocol/messages.ts';
import type { StateEvent } from '../../protocol/streams.ts';
import type { Intent } from './change.ts';
import { type Credential, type SignedIn, signInWith } from './credential.ts';
import { Follower, type FollowerState } from './follower.ts';
import { type Problem, problemOf } from './problem.ts';
import { RateHistory } from './rate-history.ts';
import { type Action, INITIAL, type Receipt, reduce, type State } from './state.ts';
import { Store } from './store.ts';

export interface Environment {
  /** Everything before `rdcp/console/` in the page's own address. */
  readonly baseUrl: string;
  readonly fetch: typeof globalThis.fetch;
  /** In milliseconds since the epoch. */
  readonly now: () => number;
  readonly random: () => number;
  readonly after: (milliseconds: number, task: () => void) => () => void;
}

/** How often health is asked for, in milliseconds. */
const HEALTH_MS = 15_000;
/** How long a receipt that needs no attention stays, in milliseconds. */
const RECEIPT_MS = 10_000;
/** Several changes in this time ask for the tenants once, in milliseconds. */
const TENANTS_MS = 1000;
/** Where the server does not say how long a temporary control may be. */
const USUAL_MAX_SECONDS = 24 * 3600;

/** The page's connection to its endpoint: who is signed in, the client, and the state that the server sends. */
export class Connection {
  readonly store = new Store<State, Action>(INITIAL, reduce);
  readonly history = new RateHistory();
  readonly #environment: Environment;
  readonly #follower: Follower<StateEvent>;
  #signedIn: SignedIn | undefined;
  #client: RdcpClient;
  #cancelHealth: (() => void) | undefined;
  #cancelTenants: (() => void) | undefined;
  #receipts = 0;
  #visible = true;

  constructor(environment: Environment) {
    this.#environment = environment;
    const { after, random, now } = environment;
    this.#client = this.#clientOf({});
    this.#follower = new Follower<StateEvent>({
      open: (lastEventId, signal) => this.#client.events({ signal, ...(lastEventId !== undefined && { lastEventId }) }),
      receive: (event) => this.#receive(event),
      changed: (state) => this.#linkChanged(state),
      isFinal: (error) => isRdcpError(error) && (error.status === 401 || error.status === 403),
      askedFor: (error) => {
        const { retryAt } = problemOf(error, now());
        return retryAt === undefined ? undefined : retryAt - now();
      },
      after,
      random,
    });
  }

  /** Of the credential and the tenant that are in force; another one after a change of either. */
  get client(): RdcpClient {
    return this.#client;
  }

  get session(): SessionResponse | undefined {
    return this.store.state.session;
  }

  get tenant(): string | undefined {
    return this.store.state.tenant;
  }

  /** In milliseconds since the epoch. */
  now(): number {
    return this.#environment.now();
  }

  /** Whether the credential has a scope. `admin` is every scope. */
  can(scope: Scope): boolean {
    const scopes = this.session?.scopes ?? [];
    return scopes.includes(scope) || scopes.includes('admin');
  }

  /** Whether the server has an endpoint of ours, such as `tail`. */
  has(endpoint: string): boolean {
    return this.store.state.server?.otelrdcp_endpoints[endpoint] !== undefined;
  }

  /** Whether the credential may see lines. */
  get mayTail(): boolean {
    return this.session?.otelrdcp_console?.tail !== undefined;
  }

  /** Longest time of a temporary control. */
  get maxSeconds(): number {
    return this.session?.otelrdcp_console?.maxDurationSeconds ?? USUAL_MAX_SECONDS;
  }

  /** Whether settings are kept for each tenant. */
  get hasTenants(): boolean {
    return this.store.state.server?.capabilities.multiTenancy === true;
  }

  /** Whether settings are kept for each tenant, and this credential is of none and may choose one. */
  get choosesTenants(): boolean {
    const tenant = this.session?.tenantId ?? EVERYBODY;
    return this.hasTenants && tenant === EVERYBODY && this.can('admin');
  }

  /** The tenant whose settings are shown; `undefined` for everybody's. */
  get shownTenant(): string | undefined {
    const own = this.session?.tenant;
    return this.tenant ?? (own?.scope === 'tenant-isolated' ? own.id : undefined);
  }

  /** Whether the credential may switch something in what is shown now. */
  get maySwitch(): boolean {
    const { session } = this;
    const everybody = session?.tenantId === EVERYBODY && session.tenant?.isolationLevel !== 'global';
    return this.can('control') && (!everybody || !this.hasTenants || this.can('admin'));
  }

  /** Sends a change. With the same request id it takes effect once, however often it is sent. */
  async change(command: ControlCommand, tenant: string | undefined, requestId: string): Promise<ControlResponse> {
    const answer = await this.clientFor(tenant).control(command, { requestId });
    if (tenant !== undefined) this.#askTenantsSoon();
    return answer;
  }

  /** A client for one tenant; `undefined` for everybody. */
  clientFor(tenant: string | undefined): RdcpClient {
    return tenant === this.tenant ? this.#client : this.#clientOf(this.#signedIn?.options ?? {}, tenant);
  }

  /** Puts into the state what is known now. */
  know(known: Extract<Action, { type: 'known' }>['known']): void {
    this.store.dispatch({ type: 'known', known });
  }

  /** What a process is called: its host and process id, where the credential may know them. */
  processName(id: string): string {
    const member = this.store.state.fleet?.members?.find((each) => each.id === id);
    return member === undefined ? id.slice(0, 8) : `${member.host}:${member.pid}`;
  }

  /** Opens the dialog for a change. */
  ask(intent: Intent, categories: readonly string[]): void {
    this.know({ asked: { intent, categories } });
  }

  /** Closes the dialog for a change. */
  askNothing(): void {
    this.know({ asked: undefined });
  }

  /** Shows the answer to a change. One that is as it should be goes by itself. */
  showReceipt(receipt: Omit<Receipt, 'id'>): void {
    this.#receipts += 1;
    const id = this.#receipts;
    this.store.dispatch({ type: 'receipt', receipt: { ...receipt, id } });
    // One that needs attention is an alert by itself.
    if (receipt.tone !== 'good') return;
    this.announce(`${receipt.title}. ${receipt.detail ?? ''}`);
    this.#environment.after(RECEIPT_MS, () => this.dismissReceipt(id));
  }

  dismissReceipt(id: number): void {
    this.store.dispatch({ type: 'receipt-seen', id });
  }

  /** Says something to users of screen readers. */
  announce(text: string): void {
    this.know({ announcement: text });
  }

  /**
   * Finds out who the server is, and whether it knows this browser already by its connection.
   * @param code the one-time code of `rdcp console`
   */
  async begin(code?: string): Promise<void> {
    try {
      const server = await this.#client.wellKnown();
      this.know({ server });
      if (code !== undefined) await this.signIn({ kind: 'code', code });
      else if (server.otelrdcp_authenticated === true) await this.signIn({ kind: 'connection' });
      else this.store.dispatch({ type: 'signed-out' });
    } catch (error) {
      this.store.dispatch({ type: 'unreachable', problem: this.problemOf(error) });
    }
  }

  /** @returns why the credential was not accepted */
  async signIn(credential: Credential): Promise<Problem | undefined> {
    const { server, stage } = this.store.state;
    const options = this.#common();
    const createClient = (given: SignedIn['options']) => createRdcpClient({ ...options, ...given });
    try {
      const signedIn = await signInWith(credential, server?.security.tokenRefresh === true, { options, createClient });
      const session = await createClient(signedIn.options).session();
      if (this.session?.userId !== session.userId) this.history.clear();
      this.#signedIn = signedIn;
      this.store.dispatch({ type: 'signed-in', session });
      this.#client = this.#clientOf(signedIn.options, this.tenant);
      this.#follow();
      return undefined;
    } catch (error) {
      const problem = this.problemOf(error);
      // Where a session has expired, the views stay as they are.
      if (stage !== 'expired') this.store.dispatch({ type: 'signed-out', problem });
      return problem;
    }
  }

  /** Forgets the credential, and ends its session where the server has one. */
  async signOut(): Promise<void> {
    const signedIn = this.#signedIn;
    this.#forget();
    this.store.dispatch({ type: 'signed-out' });
    await signedIn?.end();
  }

  /** Shows one tenant; `undefined` for everybody. */
  chooseTenant(tenant: string | undefined): void {
    if (this.#signedIn === undefined || tenant === this.tenant) return;
    this.store.dispatch({ type: 'tenant', tenant });
    this.history.clear();
    this.#client = this.#clientOf(this.#signedIn.options, tenant);
    this.#follower.restart();
    void this.#askHealth();
  }

  /** While nobody sees the page it asks for nothing. */
  setVisible(visible: boolean): void {
    this.#visible = visible;
    if (this.store.state.stage !== 'signed-in') return;
    if (visible) this.#follow();
    else {
      this.#follower.pause();
      this.#cancelHealth?.();
    }
  }

  /** The network may be back. */
  wake(): void {
    if (this.store.state.stage === 'unreachable') void this.begin();
    else this.#follower.wake();
  }

  /** Categories with their totals, which events do not repeat. */
  async refresh(): Promise<void> {
    const { categories } = await this.#client.discovery();
    this.store.dispatch({ type: 'categories', categories });
  }

  problemOf(error: unknown): Problem {
    return problemOf(error, this.now());
  }

  #follow(): void {
    if (!this.#visible) return;
    this.#follower.start();
    void this.#askHealth();
    void this.#askTenants();
  }

  #askTenantsSoon(): void {
    this.#cancelTenants ??= this.#environment.after(TENANTS_MS, () => {
      this.#cancelTenants = undefined;
      if (this.#visible) void this.#askTenants();
    });
  }

  async #askTenants(): Promise<void> {
    if (!this.choosesTenants) return;
    const answer = await this.clientFor(undefined)
      .tenants()
      .catch(() => undefined);
    if (answer !== undefined && this.choosesTenants) this.know({ tenants: answer.tenants });
  }

  #forget(): void {
    this.#follower.stop();
    this.#cancelHealth?.();
    this.#signedIn = undefined;
    this.#client = this.#clientOf({});
    this.history.clear();
  }

  #common() {
    return { baseUrl: this.#environment.baseUrl, clientId: 'console', fetch: this.#environment.fetch };
  }

  #clientOf(options: SignedIn['options'], tenantId?: string): RdcpClient {
    const { token } = options;
    return createRdcpClient({
      ...this.#common(),
      ...options,
      ...(tenantId !== undefined && { tenantId }),
      fetch: async (url, init) => {
        const response = await this.#environment.fetch(url, init);
        if (response.status === 401 && options === this.#signedIn?.options) this.#expired();
        return response;
      },
      ...(token !== undefined && { token: () => this.#freshToken(token) }),
    });
  }

  async #freshToken(token: NonNullable<SignedIn['options']['token']>): Promise<string> {
    try {
      return typeof token === 'string' ? token : await token();
    } catch (error) {
      // The refresh token was refused.
      if (isRdcpError(error) && error.status < 500 && error.status !== 429) this.#expired();
      throw error;
    }
  }

  #expired(): void {
    if (this.store.state.stage !== 'signed-in') return;
    this.#cancelHealth?.();
    this.#follower.pause();
    this.store.dispatch({ type: 'expired' });
  }

  #receive(event: StateEvent): void {
    if (event.event === 'rates') this.history.add(event.data);
    if (event.event === 'audit' && event.data.tenant !== undefined) this.#askTenantsSoon();
    this.store.dispatch({ type: 'event', event });
  }

  #linkChanged(state: FollowerState): void {
    const now = this.now();
    const { link } = this.store.state;
    if (state.state === 'stopped') return;
    if (state.state === 'lost') {
      const since = link.state === 'lost' ? link.since : now;
      const problem = this.problemOf(state.error);
      this.know({ link: { state: 'lost', since, retryAt: now + state.delayMs, problem } });
      return;
    }
    // An attempt after a failure stays a lost connection until it succeeds.
    if (state.state === 'connecting' && link.state === 'lost') return;
    if (state.state !== link.state) this.know({ link: { state: state.state } });
  }

  async #askHealth(): Promise<void> {
    this.#cancelHealth?.();
    const client = this.#client;
    if (this.can('status') || this.can('discovery')) {
      const health = await client.health().catch(() => undefined);
      if (client !== this.#client || this.store.state.stage !== 'signed-in') return;
      if (health !== undefined) this.know({ health });
    }
    this.#cancelHealth?.();
    if (this.#visible) this.#cancelHealth = this.#environment.after(HEALTH_MS, () => void this.#askHealth());
  }
}

/** The client's base URL: everything before `rdcp/console/` in the page's own address. */
export function baseUrlOf(pageUrl: string): string {
  const { origin, pathname } = new URL(pageUrl);
  const at = pathname.lastIndexOf('/rdcp/console');
  return origin + (at === -1 ? '' : pathname.slice(0, at));
}
