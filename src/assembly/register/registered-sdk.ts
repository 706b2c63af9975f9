import { isStoppable } from '../../otel/provider-shutdown.ts';
import { registeredProviders } from '../../otel/telemetry.ts';
import { preloadedModules } from './preloaded-modules.ts';

/** A module that starts an SDK, as a package entry or a file. */
const STARTS_SDK = /(?:^|[/\\])@opentelemetry[/\\]auto-instrumentations-node[/\\].*register/;

/** Whether an OpenTelemetry SDK is registered in this process. */
export function isSdkRegistered(): boolean {
  return signals().length > 0;
}

/** Whether a preloaded module starts an SDK, possibly after ours because its `--import` comes later. */
export function willRegisterSdk(execArgv: readonly string[], env: NodeJS.ProcessEnv): boolean {
  return preloadedModules(execArgv, env).some((name) => STARTS_SDK.test(name));
}

/** The registered SDK, for the start message. */
export function describeRegisteredSdk(): string {
  const taken = signals();
  if (taken.length === 0) return 'the OpenTelemetry SDK of @opentelemetry/auto-instrumentations-node';
  return `the OpenTelemetry SDK that is already registered (${taken.join(', ')})`;
}

/** The signals for which an SDK registered a provider. The API's no-op and proxy providers do not count. */
function signals(): string[] {
  return Object.entries(registeredProviders()).flatMap(([signal, provider]) => (isStoppable(provider) ? [signal] : []));
}
