// Imports what its argument names, and tells its parent what is different in this process afterwards.
import * as consoleModule from 'node:console';
import * as dns from 'node:dns';
import * as fs from 'node:fs';
import * as http from 'node:http';
import * as https from 'node:https';
import Module from 'node:module';
import * as net from 'node:net';
import * as timers from 'node:timers';

interface Picture {
  /** Names of globals and of fields of what everybody uses. */
  readonly names: ReadonlySet<string>;
  /** Functions that anybody could have replaced. */
  readonly functions: ReadonlyMap<string, unknown>;
  readonly listeners: ReadonlySet<string>;
  /** What keeps this process alive, and its number. */
  readonly resources: readonly string[];
  readonly environment: string;
}

const SHARED: Readonly<Record<string, object>> = {
  consoleModule,
  dns,
  fs,
  http,
  https,
  Module,
  'Module.prototype': Module.prototype,
  net,
  timers,
  console,
  process,
  'Promise.prototype': Promise.prototype,
  'Array.prototype': Array.prototype,
};

function picture(): Picture {
  const functions = new Map<string, unknown>();
  for (const [name, object] of Object.entries(SHARED)) {
    for (const key of Reflect.ownKeys(object)) {
      const value: unknown = Object.getOwnPropertyDescriptor(object, key)?.value;
      if (typeof value === 'function') functions.set(`${name}.${String(key)}`, value);
    }
  }
  return {
    names: new Set([...Reflect.ownKeys(globalThis), ...Reflect.ownKeys(Object.prototype)].map(String)),
    functions,
    listeners: new Set(process.eventNames().map((name) => `${String(name)} ${process.listenerCount(name)}`)),
    resources: process.getActiveResourcesInfo(),
    environment: JSON.stringify(process.env),
  };
}

const before = picture();
const handlesBefore = before.resources.length;
await import(process.argv[2] as string);
await new Promise((resolve) => setImmediate(resolve));
const after = picture();
const differences = {
  names: [...after.names].filter((name) => !before.names.has(name)),
  functions: [...after.functions].filter(([name, value]) => before.functions.get(name) !== value).map(([name]) => name),
  listeners: [...after.listeners].filter((listener) => !before.listeners.has(listener)),
  resources: after.resources.length - handlesBefore,
  environment: before.environment === after.environment,
};
process.send?.(differences);
process.disconnect();
