#!/usr/bin/env node
// `npx opentelemetry-instrumentation-rdcp demo` starts the shop under remote control, in any folder. npx runs the command
// that has the package's name, so every other argument goes to the `rdcp` command. The files beside it are those of dist/.

import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

const REGISTER = 'opentelemetry-instrumentation-rdcp/register';
const SDK = '@opentelemetry/sdk-node';

const [command, ...args] = process.argv.slice(2);
if (command === 'demo') demo(args);
else void import(new URL('../cli/main.js', import.meta.url).href);

/** Runs the shop in a process of its own, as a service that never heard of this command. */
function demo(args: readonly string[]): void {
  const hasSdk = isInstalled(SDK);
  const control = hasSdk ? import.meta.resolve(REGISTER) : new URL('control.js', import.meta.url).href;
  const child = spawn(
    process.execPath,
    ['--import', control, fileURLToPath(new URL('shop.js', import.meta.url)), ...args],
    {
      stdio: 'inherit',
      env: {
        OTEL_SERVICE_NAME: 'shop',
        RDCP_STORE: 'sqlite:shop-control.sqlite',
        RDCP_RECORD: '*',
        SHOP_COMMAND: 'npx opentelemetry-instrumentation-rdcp',
        ...process.env,
      },
    },
  );
  // Ctrl-C reaches the shop by itself; this process only has to outlive it.
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => child.kill());
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal ?? 'SIGKILL']));
}

function isInstalled(name: string): boolean {
  try {
    import.meta.resolve(name);
    return true;
  } catch {
    return false;
  }
}
