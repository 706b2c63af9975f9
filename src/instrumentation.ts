import { type MeterProvider, metrics, type TracerProvider, trace } from '@opentelemetry/api';
import { InstrumentationBase, type InstrumentationConfig } from '@opentelemetry/instrumentation';
import { afterStart } from './after-start.ts';
import { parseConfig } from './config.ts';
import { diagnostics } from './diagnostics.ts';
import { isRdcpError } from './errors.ts';
import type { RdcpConfig } from './options.ts';
import { EMISSION_TEXTS } from './protocol/emission.ts';
import { beforeShutdown, isStoppable } from './provider-shutdown.ts';
import { createRdcp, type Rdcp } from './rdcp.ts';
import { createReporter } from './reporter.ts';
import { createTelemetry, isConnected, type Logger, registeredLoggerProvider, type Telemetry } from './telemetry.ts';
import { INSTRUMENTATION_NAME, VERSION } from './version.ts';

/** What {@link RdcpInstrumentation} takes: the configuration of the remote control, and OpenTelemetry's `enabled`. */
export type RdcpInstrumentationConfig = RdcpConfig & InstrumentationConfig;

/**
 * Remote control of a service's debug output, as an OpenTelemetry instrumentation: pass one to `NodeSDK` or to
 * `registerInstrumentations`. Enabled, which it is from the start unless `enabled: false`, it opens its endpoint;
 * disabled, every category is off and the endpoint says so.
 */
export class RdcpInstrumentation extends InstrumentationBase<RdcpInstrumentationConfig> {
  readonly #config: RdcpConfig;
  readonly #listeners: (() => void)[] = [];
  #meterProviderGiven = false;
  #tracerProviderGiven = false;
  #loggerProviderGiven: object | undefined;
  #rdcp: Rdcp | undefined;
  /** Begins to listen, as enabling asked for. Absent once begun, and while disabled from the start. */
  #begin: Rdcp['listen'] | undefined;

  /**
   * @param config as for `createRdcp`, and OpenTelemetry's `enabled`. @default loopback, port 9465, a development key
   * @throws {RdcpError} `RDCP_CONFIG_INVALID`, whose message is one line that names the field
   */
  constructor(config: RdcpInstrumentationConfig = {}) {
    // The base class would call enable() before a field of this one exists.
    super(INSTRUMENTATION_NAME, VERSION, { ...config, enabled: false });
    this.setConfig(config);
    const { enabled = true, ...rdcp } = config;
    this.#config = rdcp;
    if (!enabled) {
      parseConfig(rdcp);
      return;
    }
    this.#rdcp = this.#create();
    this.enable();
  }

  /** The remote control itself, to mount `rdcp.callback()` in a server of your own. Made on first use. */
  get rdcp(): Rdcp {
    this.#rdcp ??= this.#create();
    return this.#rdcp;
  }

  /**
   * The endpoint's address, once it listens. Enabling begins that when the application has started; this begins it at
   * once. What failed is tried again.
   * @throws {RdcpError} `RDCP_CONFIG_INVALID` with `server: false`, or an address that needs TLS; or the system's error
   * when the port cannot be had
   */
  listen(): ReturnType<Rdcp['listen']> {
    return this.#begin?.() ?? this.rdcp.listen();
  }

  /**
   * Turns the categories back to what they are set to. Unless `server: false` the endpoint is opened a moment later, so
   * that the application does not wait for it. Never throws.
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

  /** Turns every category off. The endpoint goes on answering. */
  override disable(): void {
    super.disable();
    this.#rdcp?.setEnabled(false);
  }

  /** Closes the endpoint gracefully and writes the audit trail out. Enabling again opens a new one. */
  async close(): Promise<void> {
    const rdcp = this.#rdcp;
    super.disable();
    this.#begin = undefined;
    this.#rdcp = undefined;
    this.#listeners.length = 0;
    await rdcp?.close();
  }

  override setMeterProvider(meterProvider: MeterProvider): void {
    super.setMeterProvider(meterProvider);
    this.#meterProviderGiven = meterProvider !== metrics.getMeterProvider();
    for (const listener of this.#listeners) listener();
  }

  override setTracerProvider(tracerProvider: TracerProvider): void {
    super.setTracerProvider(tracerProvider);
    this.#tracerProviderGiven = tracerProvider !== trace.getTracerProvider();
  }

  /** @param loggerProvider of the Logs API, which lives in another package on each line of OpenTelemetry JS */
  override setLoggerProvider(loggerProvider: object): void {
    super.setLoggerProvider(loggerProvider as never);
    this.#loggerProviderGiven = loggerProvider;
  }

  /**
   * Says once that the endpoint listens, and where debug calls go.
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

  #create(): Rdcp {
    const rdcp = createRdcp(this.#config, { telemetry: this.#telemetry() });
    rdcp.setEnabled(this.isEnabled());
    return rdcp;
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
    createReporter(this.#config.logger).error(`the endpoint did not start: ${describe(error)}`);
  }

  /**
   * What was set on this instrumentation comes first. Where nothing was, or only the stand-in of a provider that was
   * not registered yet, the registered provider counts, whenever it comes.
   */
  #telemetry(): Telemetry {
    const registered = createTelemetry();
    const meter = () => (this.#meterProviderGiven ? this.meter : registered.meter);
    const tracer = () => (this.#tracerProviderGiven ? this.tracer : registered.tracer);
    const given = (): Logger => this.logger;
    const providerGiven = () => this.#loggerProviderGiven;
    let connected: Logger | undefined;
    return {
      beforeShutdown: (task) => {
        const provider = providerGiven();
        return beforeShutdown(isStoppable(provider) ? provider : registeredLoggerProvider(), task);
      },
      onChange: (listener) => {
        this.#listeners.push(listener);
        registered.onChange?.(listener);
      },
      get meter() {
        return meter();
      },
      get tracer() {
        return tracer();
      },
      get logger() {
        const logger = given();
        if (logger === connected) return logger;
        if (!isConnected(logger)) return registered.logger;
        connected = logger;
        return logger;
      },
      get loggerGiven() {
        const provider = providerGiven();
        return isStoppable(provider) && !Object.is(provider, registeredLoggerProvider());
      },
    };
  }
}

/** Our own messages are written to be shown; of another error its code tells enough. */
function describe(error: unknown): string {
  if (isRdcpError(error)) return error.message;
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : 'internal error';
}
