import { isStoppable } from '../provider-shutdown.ts';
import { registeredProviders } from '../telemetry.ts';
import { preloadedModules } from './preloaded-modules.ts';

/** The module that starts an SDK, as a package's entry or as a file. */
const STARTS_SDK = /(?:^|[/\\])@opentelemetry[/\\]auto-instrumentations-node[/\\].*register/;

/** Whether an OpenTelemetry SDK was started in this process. */
export function isSdkRegistered(): boolean {
  return signals().length > 0;
}

/** Whether a module that starts one is yet to be loaded, because its `--import` comes after ours. */
export function willRegisterSdk(execArgv: readonly string[], env: NodeJS.ProcessEnv): boolean {
  return preloadedModules(execArgv, env).some((name) => STARTS_SDK.test(name));
}

/** What the SDK takes, for people. */
export function describeRegisteredSdk(): string {
  const taken = signals();
  if (taken.length === 0) return 'the OpenTelemetry SDK of @opentelemetry/auto-instrumentations-node';
  return `the OpenTelemetry SDK that is registered already (${taken.join(', ')})`;
}

/** The signals that an SDK has a provider for. The API's no-op providers and stand-ins are none. */
function signals(): string[] {
  return Object.entries(registeredProviders()).flatMap(([signal, provider]) => (isStoppable(provider) ? [signal] : []));
}
