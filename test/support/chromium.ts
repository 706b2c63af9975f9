import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

/** Debian's Chromium, without a download. Names of other sites lead to this machine, as an attacker's do. */
export async function launchChromium(): Promise<Browser> {
  const executablePath = (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, 'chromium'))
    .find((file) => existsSync(file));
  assert.ok(executablePath, 'chromium is not installed (a Debian package has it)');
  const args = ['--host-resolver-rules=MAP *.test 127.0.0.1, MAP *.example.com 127.0.0.1'];
  return chromium.launch({ executablePath, args, chromiumSandbox: process.getuid?.() !== 0 });
}
