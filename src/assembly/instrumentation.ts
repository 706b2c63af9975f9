import { isDeepStrictEqual } from 'node:util';
import { type MeterProvider, metrics, type TracerProvider, trace } from '@opentelemetry/api';
import { InstrumentationBase, type InstrumentationConfig } from '@opentelemetry/instrumentation';
import { parseConfig } from '../options/config.ts';
import type { RdcpConfig } from '../options/options.ts';
import { diagnostics } from '../otel/diagnostics.ts';
import { createReporter, problemOf } from '../otel/report/reporter.ts';
import { createTelemetry, type GivenProviders } from '../otel/telemetry.ts';
import { afterStart } from '../wire/time/after-start.ts';
import { INSTRUMENTATION_NAME, VERSION } from '../wire/version.ts';
import { EMISSION_TEXTS } from '../wire/words/emission.ts';
import { createRdcp, type Rdcp } from './rdcp.ts';

/** Options of {@link RdcpInstrumentation}: those of `createRdcp`, and OpenTelemetry's `enabled`. */
export type RdcpInstrumentationConfig = RdcpConfig & InstrumentationConfig;

/**
 * Remote control of a service's debug output, as an OpenTelemetry instrumentation for `NodeSDK` or `registerInstrumentations`.
 * While enabled, the default, it has an open endpoint. While disabled, every category is off.
 */
export class RdcpInstrumentation extends InstrumentationBase<RdcpInstrumentationConfig> {
  #config: RdcpConfig;
  /** Those that were set on this instrumentation. */
  readonly #given: GivenProviders = {};
  #telemetry: ReturnType<typeof createTelemetry> | undefined;
  #rdcp: Rdcp | undefined;
  /** Starts to listen; set by `enable()` until it was called. */
  #begin: Rdcp['listen'] | undefined;

  /**
   * @param config as for `createRdcp`, and OpenTelemetry's `enabled`. @default loopback, port 9465, a development key
   * @throws {RdcpError} `RDCP_CONFIG_INVALID`; its message is one line that names the field
   */
  constructor(config: RdcpInstrumentationConfig = {}) {
    // The base class would call enable() before a field of this one exists.
    super(INSTRUMENTATION_NAME, VERSION, { ...config, enabled: false });
    const { enabled = true, ...rdcp } = config;
    this.#config = rdcp;
    if (!enabled) {
      parseConfig(rdcp);
      return;
    }
    this.#rdcp = this.#create();
    this.enable();
  }

  /** The options in force. `enabled` is whether it is enabled now. */
  override getConfig(): RdcpInstrumentationConfig {
    return { ...super.getConfig(), enabled: this.isEnabled() };
  }

  /**
   * Enables or disables it, as `enabled` says. The other options are read when the endpoint is made: once that runs, those that
   * differ are refused with a warning. After `close()` all of them can change. Never throws.
   */
  override setConfig(config: RdcpInstrumentationConfig): void {
    // Called by the base class, before the fields of this one exist.
    if (!(#config in this)) {
      super.setConfig(config);
      return;
    }
    const { enabled = true, ...wanted } = config;
    const refusal = this.#rdcp === undefined ? configProblem(wanted) : this.#fixed(wanted);
    if (refusal !== undefined) createReporter(this.#config.logger).warn(`setConfig() ignored options: ${refusal}`);
    else if (this.#rdcp === undefined) {
      super.setConfig(config);
      this.#config = wanted;
    }
    if (enabled !== this.isEnabled()) enabled ? this.enable() : this.disable();
  }

  /** The remote control, to mount `rdcp.callback()` in your own server. Created on first use. */
  get rdcp(): Rdcp {
    this.#rdcp ??= this.#create();
    return this.#rdcp;
  }

  /**
   * Opens the endpoint now, and resolves with its address. Enabling opens it a moment later, after the application's start.
   * May be called again after a failure.
   * @throws {RdcpError} `RDCP_CONFIG_INVALID` with `server: false`, or if the address needs TLS or cannot be used
   */
  listen(): ReturnType<Rdcp['listen']> {
    return this.#begin?.() ?? this.rdcp.listen();
  }

  /**
   * Switches the categories back to their settings. Unless `server: false`, opens the endpoint a moment later, so that the
   * application's start does not wait for it. Never throws.
   */
  override enable(): void {
    super.enable();
    try {
      this.rdcp.setEnabled(true);
      if (this.#config.server !== false) this.#listenAfterStart();
    } catch (error) {
      this.#reportStart(error);
    }
  }

  /** Switches every category off. The endpoint keeps answering. */
  override disable(): void {
    super.disable();
    this.#rdcp?.setEnabled(false);
  }

  /** Drains in-flight requests, closes the endpoint and flushes the audit trail. Enabling again opens a new endpoint. */
  async close(): Promise<void> {
    const rdcp = this.#rdcp;
    super.disable();
    this.#begin = undefined;
    this.#rdcp = undefined;
    this.#telemetry = undefined;
    await rdcp?.close();
  }

  /** Called by OpenTelemetry's SDK: metrics go to this provider from then on. */
  override setMeterProvider(meterProvider: MeterProvider): void {
    super.setMeterProvider(meterProvider);
    this.#given.meter = meterProvider === metrics.getMeterProvider() ? undefined : meterProvider;
    this.#telemetry?.changed();
  }

  /** Called by OpenTelemetry's SDK: spans go to this provider from then on. */
  override setTracerProvider(tracerProvider: TracerProvider): void {
    super.setTracerProvider(tracerProvider);
    this.#given.tracer = tracerProvider === trace.getTracerProvider() ? undefined : tracerProvider;
  }

  /**
   * Where log records go from now on.
   * @param loggerProvider of the Logs API, which is in a different package on each line of OpenTelemetry JS
   */
  override setLoggerProvider(loggerProvider: object): void {
    super.setLoggerProvider(loggerProvider as never);
    this.#given.logger = loggerProvider;
  }

  /**
   * Reports that the endpoint listens, and where debug calls go.
   * @internal
   */
  protected announce({ url, shared }: Awaited<ReturnType<Rdcp['listen']>>): void {
    if (this.#rdcp === undefined || shared === true || this.#config.announce === false) return;
    const { to } = this.rdcp.emission;
    createReporter(this.#config.logger).info(`remote control on ${url} and debug lines ${EMISSION_TEXTS[to]}`);
  }

  /** This instrumentation patches no module. */
  protected override init(): [] {
    return [];
  }

  /** Says which options differ from those of the running endpoint. Options that are left out stay as they are. */
  #fixed(wanted: RdcpConfig): string | undefined {
    const current = this.#config;
    const names = Object.keys(wanted) as (keyof RdcpConfig)[];
    const differing = names.filter((name) => !isDeepStrictEqual(wanted[name], current[name]));
    if (differing.length === 0) return undefined;
    return `while the endpoint runs, only enabled can change, not ${differing.join(', ')}: call close() first`;
  }

  #create(): Rdcp {
    this.#telemetry = createTelemetry(this.#given);
    return createRdcp(this.#config, { telemetry: this.#telemetry, enabled: this.isEnabled() });
  }

  #listenAfterStart(): void {
    this.#begin = () => {
      this.#begin = undefined;
      const listening = this.rdcp.listen();
      listening.then(
        (started) => this.announce(started),
        (error) => this.#reportStart(error),
      );
      return listening;
    };
    afterStart(() => void this.#begin?.());
  }

  #reportStart(error: unknown): void {
    diagnostics.error('rdcp: the endpoint did not start', error);
    createReporter(this.#config.logger).error(`the endpoint did not start: ${problemOf(error)}`);
  }
}

/** Why options cannot be used. */
function configProblem(config: RdcpConfig): string | undefined {
  try {
    parseConfig(config);
    return undefined;
  } catch (error) {
    return problemOf(error);
  }
}
