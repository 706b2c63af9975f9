import { batch } from '@preact/signals';
import {
  type ControlCommand,
  createRdcpClient,
  isRdcpError,
  type RdcpClient,
  type RdcpClientOptions,
  type Scope,
} from '../../../client.ts';
import { allowText } from '../../../wire/allow-text.ts';
import { EVERYBODY, RECORDING_SECONDS } from '../../../wire/constants.ts';
import { isCounted } from '../../../wire/counted-calls.ts';
import type { ControlResponse, DiscoveredCategory, SessionResponse, WaitingChange } from '../../../wire/messages.ts';
import type { StateEvent } from '../../../wire/streams.ts';
import { clockTime } from '../../../wire/words/time.ts';
import { askedForMs } from '../../client/passing.ts';
import { randomId } from '../../client/random-id.ts';
import { receiptOf } from './change.ts';
import { type Credential, type SignedIn, signInWith } from './credential.ts';
import { Follower, type FollowerState, REAL_TIME } from './follower.ts';
import type { Intent } from './intents.ts';
import { intentsOf, isAllowed, longestAllowed } from './intents.ts';
import { type Problem, problemOf } from './problem.ts';
import { RateHistory } from './rate-history.ts';
import { type ChangeQuestion, PageState, type Receipt } from './state.ts';

/** The server sends rates once a second. Without three of them it is silent, in milliseconds. */
const SILENT_MS = 3000;
/** How often health is asked for, in milliseconds. */
const HEALTH_MS = 15_000;
/** How long a receipt that needs no attention stays, in milliseconds. */
const RECEIPT_MS = 10_000;
/** Several changes in this time ask once for what events do not carry, in milliseconds. */
const ASK_MS = 500;
/** How long "Measure all" measures, in seconds. */
const MEASURE_SECONDS = 2;
/** Events after which tenants may have other settings, and other changes wait for an approval. */
const CHANGES: ReadonlySet<string> = new Set<StateEvent['event']>(['snapshot', 'category', 'audit']);
/** Where the server does not say how long a temporary control may be. */
const USUAL_MAX_SECONDS = 24 * 3600;

/** The page's connection to its endpoint: the client, who is signed in, and the state that the server sends. */
export class Connection {
  readonly state = new PageState();
  readonly history = new RateHistory();
  /** For the credential and the tenant that are in force; another one after a change of either. */
  client: RdcpClient;
  readonly #options: RdcpClientOptions;
  readonly #follower: Follower<StateEvent>;
  #signedIn: SignedIn | undefined;
  #healthTimer: ReturnType<typeof setTimeout> | undefined;
  #askTimer: ReturnType<typeof setTimeout> | undefined;
  #receipts = 0;
  #visible = true;

  /** @param baseUrl everything before `rdcp/console/` in the page's own address */
  constructor(baseUrl: string) {
    this.#options = { baseUrl, clientId: 'console' };
    this.client = this.#clientOf({});
    this.#follower = new Follower<StateEvent>({
      ...REAL_TIME,
      open: (lastEventId, signal) => this.client.events({ signal, ...(lastEventId !== undefined && { lastEventId }) }),
      receive: (event) => this.#receive(event),
      changed: (state) => this.#linkChanged(state),
      isFinal: (error) => isRdcpError(error) && (error.status === 401 || error.status === 403),
      askedFor: (error) => askedForMs(error, Date.now()),
      silentMs: SILENT_MS,
    });
  }

  get session(): SessionResponse | undefined {
    return this.state.session.value;
  }

  get tenant(): string | undefined {
    return this.state.tenant.value;
  }

  /** Whether the credential has a scope. `admin` is every scope. */
  can(scope: Scope): boolean {
    const scopes = this.session?.scopes ?? [];
    return scopes.includes(scope) || scopes.includes('admin');
  }

  /** Whether the server has an endpoint of ours, such as `tail`. */
  has(endpoint: string): boolean {
    return this.state.server.value?.otelrdcp_endpoints[endpoint] !== undefined;
  }

  /** Whether the credential may see lines. */
  get mayTail(): boolean {
    return this.session?.otelrdcp_console?.tail !== undefined && isAllowed('tail', undefined, this.session);
  }

  /** Longest time of a tail, of a temporary control, or of a recording, in seconds. */
  maxSeconds({ record = false } = {}): number {
    const most = this.session?.otelrdcp_console?.maxDurationSeconds ?? USUAL_MAX_SECONDS;
    return Math.min(
      record ? Math.max(most, RECORDING_SECONDS) : most,
      longestAllowed(this.session ?? {}) ?? Number.POSITIVE_INFINITY,
    );
  }

  /** How far back a tail may begin, in seconds. */
  get keepSeconds(): number {
    return this.session?.otelrdcp_console?.tail?.keepSeconds ?? 0;
  }

  /** Whether the credential may switch something for good. */
  get mayBePermanent(): boolean {
    return longestAllowed(this.session ?? {}) === undefined;
  }

  /** Whether settings are kept for each tenant. */
  get hasTenants(): boolean {
    return this.state.server.value?.capabilities.multiTenancy === true;
  }

  /** Whether settings are kept for each tenant, and this credential belongs to none and may choose one. */
  get choosesTenants(): boolean {
    const { tenantId = EVERYBODY, otelrdcp_tenants: named } = this.session ?? {};
    return this.hasTenants && tenantId === EVERYBODY && (this.can('admin') || named !== undefined);
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
    const oneTenant = !everybody || this.tenant !== undefined;
    return this.can('control') && (oneTenant || !this.hasTenants || this.can('admin'));
  }

  /** Whether the credential may make this change of a category. */
  mayChange(intent: Intent, name: string): boolean {
    return this.maySwitch && isAllowed(intent, name, this.session ?? {});
  }

  /** Why the credential may not switch a category; `undefined` where it may. */
  whyNot(name: string): string | undefined {
    if (this.mayChange('enable', name)) return undefined;
    const { otelrdcp_allow: allow } = this.session ?? {};
    if (!this.can('control')) return 'Your credential has no scope control, so it cannot switch categories.';
    if (this.maySwitch && allow) return `Your credential may do this only: ${allowText(allow)}.`;
    return this.choosesTenants
      ? 'Your credential switches tenants only: choose one.'
      : 'Your credential has no scope admin, so it cannot switch what all tenants inherit.';
  }

  /** The changes that a category offers to this credential, the most frequent first. */
  offers(category: DiscoveredCategory) {
    return intentsOf(category, this.shownTenant).filter(([intent]) => this.mayChange(intent, category.name));
  }

  /** Sends a change. With the same request id it takes effect once, however often it is sent. */
  async change(command: ControlCommand, tenant: string | undefined, requestId: string): Promise<ControlResponse> {
    const answer = await this.clientFor(tenant).control(command, { requestId });
    this.#askSoon();
    return answer;
  }

  /** Makes a change without a question, and shows its receipt. */
  make(command: ControlCommand, tenant: string | undefined): Promise<void> {
    return this.#showAnswer(this.change(command, tenant, randomId()), tenant);
  }

  /** Makes a change that waits, in the name of who asked for it, and says so. */
  async approve({ id, tenant }: WaitingChange): Promise<void> {
    await this.#showAnswer(this.client.approve(id), tenant);
    await this.#askWaiting();
  }

  async decline({ id }: WaitingChange): Promise<void> {
    const answer = await this.client.decline(id);
    const isDeclined = answer.status === 'failed';
    this.showReceipt(isDeclined ? { tone: 'good', title: answer.message } : receiptOf(answer, ''));
    await this.#askWaiting();
  }

  async #showAnswer(answering: Promise<ControlResponse>, tenant: string | undefined): Promise<void> {
    try {
      const answer = await answering;
      const whom = tenant === undefined ? '' : `for ${tenant}`;
      const receipt = receiptOf(answer, whom, (id) => this.processName(id));
      this.showReceipt({ ...receipt, categories: answer.categories });
    } catch (error) {
      this.showProblem(error);
    }
  }

  /** A client for one tenant; `undefined` for everybody. */
  clientFor(tenant: string | undefined): RdcpClient {
    return tenant === this.tenant ? this.client : this.#clientOf(this.#signedIn?.options ?? {}, tenant);
  }

  /** Calls a second of a category: the newest of one that is on, what was measured of one that is off, if it was. */
  rateOf(category: DiscoveredCategory): number | undefined {
    const { name, metrics } = category;
    if (!isCounted(category)) return this.state.measured.value?.rates.get(name);
    const rates = this.state.rates.value;
    return rates === undefined ? metrics.callsPerSecond : (rates.categories[name] ?? 0);
  }

  /** Whether the credential may measure these categories. */
  mayMeasure(categories: readonly (string | undefined)[] = [undefined]): boolean {
    const isScope = this.can('control') || this.can('tail');
    return isScope && categories.every((name) => isAllowed('forecast', name, this.session ?? {}));
  }

  /** Measures how much each category writes, or would write if it were on. */
  async measureAll(): Promise<void> {
    const { client, state } = this;
    if (state.isMeasuring.value) return;
    state.isMeasuring.value = true;
    try {
      const names = [...(state.categories.value?.keys() ?? [])];
      const { categories } = await client.forecast(names, { duration: MEASURE_SECONDS });
      const rates = Object.entries(categories).map(
        ([name, forecast]) => [name, forecast.callsPerSecond.value] as const,
      );
      if (client === this.client) state.measured.value = { at: Date.now(), rates: new Map(rates) };
      state.announcement.value = 'Measured';
    } catch (error) {
      this.showProblem(error);
    }
    state.isMeasuring.value = false;
  }

  /** The name of a process: its host and process id, where the credential may know them. */
  processName(id: string): string {
    const member = this.state.fleet.value?.members?.find((each) => each.id === id);
    return member === undefined ? id.slice(0, 8) : `${member.host}:${member.pid}`;
  }

  /** Opens the dialog for a change. */
  ask(intent: Intent, categories: readonly string[], proposed: Pick<ChangeQuestion, 'tenant' | 'part'> = {}): void {
    this.state.asked.value = { intent, categories, tenant: this.tenant, ...proposed };
  }

  /** Shows why something was not done. */
  showProblem(error: unknown): void {
    const { title, detail } = this.problemOf(error);
    this.showReceipt({ tone: 'error', title, ...(detail !== undefined && { detail }) });
  }

  /** Shows that a change waits for an approval, if that is why it was refused. */
  showWaiting(error: unknown): boolean {
    const { reason, approval } = (isRdcpError(error) ? error.details : undefined) ?? {};
    if (reason !== 'approval_required') return false;
    const { expiresAt } = approval as { readonly expiresAt: string };
    this.showReceipt({ tone: 'good', title: `Sent for approval, waits until ${clockTime(expiresAt)}` });
    return true;
  }

  /** Shows the answer to a change. One that needs no attention goes by itself. */
  showReceipt(receipt: Omit<Receipt, 'id'>): void {
    this.#receipts += 1;
    const id = this.#receipts;
    this.state.addReceipt({ ...receipt, id });
    // One that needs attention is an alert by itself.
    if (receipt.tone !== 'good') return;
    this.state.announcement.value = `${receipt.title}. ${receipt.detail ?? ''}`;
    setTimeout(() => this.state.dismissReceipt(id), RECEIPT_MS);
  }

  /**
   * Asks the server who it is, and whether it knows this browser already by its connection.
   * @param code the one-time code of `rdcp console`
   */
  async begin(code?: string): Promise<void> {
    const { state } = this;
    try {
      const server = await this.client.wellKnown();
      state.server.value = server;
      if (code !== undefined) await this.signIn({ kind: 'code', code });
      else if (server.otelrdcp_authenticated === true) await this.signIn({ kind: 'connection' });
      else state.signOut();
    } catch (error) {
      state.problem.value = this.problemOf(error);
      state.stage.value = 'unreachable';
    }
  }

  /** @returns why the credential was not accepted */
  async signIn(credential: Credential): Promise<Problem | undefined> {
    const { stage, server } = this.state;
    const before = stage.value;
    try {
      const signedIn = await signInWith(credential, server.value?.security.tokenRefresh === true, this.#options);
      const session = await createRdcpClient({ ...this.#options, ...signedIn.options }).session();
      if (this.session?.userId !== session.userId) this.history.clear();
      this.#signedIn = signedIn;
      this.state.signIn(session);
      this.client = this.#clientOf(signedIn.options, this.tenant);
      this.#follow();
      return undefined;
    } catch (error) {
      const problem = this.problemOf(error);
      // Where a session has expired, the views stay as they are.
      if (before !== 'expired') this.state.signOut(problem);
      return problem;
    }
  }

  /** Forgets the credential, and ends its session where the server has one. */
  async signOut(): Promise<void> {
    const signedIn = this.#signedIn;
    this.#follower.stop();
    clearTimeout(this.#healthTimer);
    this.#signedIn = undefined;
    this.client = this.#clientOf({});
    this.history.clear();
    this.state.signOut();
    await signedIn?.end();
  }

  /** Shows one tenant; `undefined` for everybody. */
  chooseTenant(tenant: string | undefined): void {
    if (this.#signedIn === undefined || tenant === this.tenant) return;
    this.state.chooseTenant(tenant);
    this.history.clear();
    this.client = this.#clientOf(this.#signedIn.options, tenant);
    this.#follower.restart();
    void this.#askHealth();
  }

  /** A hidden page asks for nothing. */
  setVisible(visible: boolean): void {
    this.#visible = visible;
    if (this.state.stage.value !== 'signed-in') return;
    if (visible) this.#follow();
    else {
      this.#follower.pause();
      clearTimeout(this.#healthTimer);
    }
  }

  /** The network may be back. */
  wake(): void {
    if (this.state.stage.value === 'unreachable') void this.begin();
    else this.#follower.wake();
  }

  /** Categories with their totals, which events do not repeat. */
  async refresh(): Promise<void> {
    const { categories } = await this.client.discovery();
    this.state.takeCategories(categories);
  }

  problemOf(error: unknown): Problem {
    return problemOf(error, Date.now());
  }

  #follow(): void {
    if (!this.#visible) return;
    this.#follower.start();
    void this.#askHealth();
    this.#askNow();
  }

  #askSoon(): void {
    this.state.tenantsStale.value = true;
    this.#askTimer ??= setTimeout(() => {
      this.#askTimer = undefined;
      if (this.#visible) this.#askNow();
    }, ASK_MS);
  }

  #askNow(): void {
    void this.#askTenants();
    void this.#askWaiting();
  }

  async #askWaiting(): Promise<void> {
    const { client } = this;
    if (!this.can('admin') || !this.has('approvals')) return;
    const answer = await client.approvals().catch(() => undefined);
    if (answer !== undefined && client === this.client) this.state.waiting.value = answer.waiting;
  }

  async #askTenants(): Promise<void> {
    if (!this.choosesTenants) return;
    const answer = await this.clientFor(undefined)
      .tenants()
      .catch(() => undefined);
    if (answer === undefined || !this.choosesTenants) return;
    batch(() => {
      this.state.tenants.value = answer.tenants;
      // A change since it was asked asks again.
      this.state.tenantsStale.value = this.#askTimer !== undefined;
    });
  }

  #clientOf(options: SignedIn['options'], tenantId?: string): RdcpClient {
    const { token } = options;
    return createRdcpClient({
      ...this.#options,
      ...options,
      ...(tenantId !== undefined && { tenantId }),
      fetch: async (url, init) => {
        const response = await fetch(url, init);
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
    if (this.state.stage.value !== 'signed-in') return;
    clearTimeout(this.#healthTimer);
    this.#follower.pause();
    this.state.stage.value = 'expired';
  }

  #receive(event: StateEvent): void {
    if (event.event === 'rates') this.history.add(event.data);
    if (CHANGES.has(event.event)) this.#askSoon();
    this.state.receive(event);
  }

  #linkChanged(change: FollowerState): void {
    const { link } = this.state;
    const known = link.value;
    const now = Date.now();
    if (change.state === 'silent') link.value = { state: 'silent', since: now - SILENT_MS };
    else if (change.state === 'lost') {
      const since = 'since' in known ? known.since : now;
      link.value = { state: 'lost', since, retryAt: now + change.delayMs, problem: this.problemOf(change.error) };
      // An attempt after a failure stays a lost connection until it succeeds.
    } else if (change.state !== 'stopped' && !(change.state === 'connecting' && known.state === 'lost')) {
      if (change.state !== known.state) link.value = { state: change.state };
    }
  }

  async #askHealth(): Promise<void> {
    clearTimeout(this.#healthTimer);
    const client = this.client;
    if (this.can('status') || this.can('discovery')) {
      const health = await client.health().catch(() => undefined);
      if (client !== this.client || this.state.stage.value !== 'signed-in') return;
      if (health !== undefined) this.state.health.value = health;
    }
    clearTimeout(this.#healthTimer);
    if (this.#visible) this.#healthTimer = setTimeout(() => void this.#askHealth(), HEALTH_MS);
  }
}

/** The client's base URL: everything before `rdcp/console/` in the page's own address. */
export function baseUrlOf(pageUrl: string): string {
  const { origin, pathname } = new URL(pageUrl);
  const at = pathname.lastIndexOf('/rdcp/console');
  return origin + (at === -1 ? '' : pathname.slice(0, at));
}
