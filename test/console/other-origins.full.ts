import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import type { AuditResponse } from '../../src/wire/audit-messages.ts';
import { CONSOLE_PATHS, PATHS, TOKEN_PATHS } from '../../src/wire/constants.ts';
import type { DiscoveryResponse } from '../../src/wire/messages.ts';
import { serve } from '../support/serve.ts';
import { signIn } from './drive.ts';
import { browserTest, type ConsoleService, KEYS, openPage, startService } from './support.ts';

/** A server of somebody else, whose page does nothing by itself. @returns its port */
async function startStranger(t: TestContext): Promise<string> {
  const { url } = await serve(t, (_req, res) => {
    res.setHeader('Content-Type', 'text/html');
    res.end('<!doctype html><title>stranger</title><link rel="icon" href="data:,"><body>');
  });
  return new URL(url).port;
}

interface Answered {
  readonly what: string;
  readonly status: number;
}

/** What the service answers to strangers from now on, as it leaves the process. */
function answersOf(t: TestContext, service: ConsoleService): readonly Answered[] {
  const { port } = new URL(service.url);
  const answers: Answered[] = [];
  const note = (message: unknown) => {
    const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
    const { 'sec-fetch-dest': destination, 'sec-fetch-mode': mode, 'sec-fetch-site': site } = request.headers;
    if (request.socket.localPort !== Number(port) || site === 'same-origin') return;
    answers.push({ what: `${request.method} ${request.url} ${mode} ${destination}`, status: response.statusCode });
  };
  subscribe('http.server.response.finish', note);
  t.after(() => unsubscribe('http.server.response.finish', note));
  return answers;
}

const EVERY_PATH = [...Object.values(PATHS), ...Object.values(TOKEN_PATHS), ...Object.values(CONSOLE_PATHS)];

/** Everything that a page can make a browser ask without being a part of the endpoint's own page. */
async function tryEverything(page: Page, service: ConsoleService): Promise<Record<string, readonly string[]>> {
  return page.evaluate(
    async ({ url, paths, key }) => {
      const command = JSON.stringify({ action: 'enable', categories: ['DATABASE'] });
      const learned: Record<string, string[]> = {};
      const note = (how: string, what: string) => {
        learned[how] = [...(learned[how] ?? []), what];
      };
      const attempt = async (how: string, run: () => Promise<string | undefined>) => {
        const soon = new Promise<undefined>((resolve) => setTimeout(resolve, 1500));
        const result = await Promise.race([run().catch(() => undefined), soon]);
        if (result !== undefined) note(how, result);
      };
      const heard = (target: EventTarget, good: string) => {
        const { promise, resolve } = Promise.withResolvers<string | undefined>();
        target.addEventListener(good, () => resolve(good));
        target.addEventListener('error', () => resolve(undefined));
        return promise;
      };
      const loaded = (element: HTMLElement) => {
        document.body.append(element);
        return heard(element, 'load');
      };
      const element = <K extends keyof HTMLElementTagNameMap>(name: K, members: object) =>
        Object.assign(document.createElement(name), members);

      for (const path of paths) {
        const target = url + path;
        const text = async (init: RequestInit) => (await fetch(target, init)).text();
        await Promise.all([
          attempt('fetch', () => text({})),
          attempt('fetch with a key', () => text({ headers: { 'X-RDCP-API-Key': key } })),
          attempt('fetch with cookies', () => text({ credentials: 'include' })),
          attempt('fetch without CORS', async () => (await text({ mode: 'no-cors' })) || undefined),
          attempt('post of JSON', () =>
            text({
              method: 'POST',
              headers: { 'Content-Type': 'application/json', 'X-RDCP-API-Key': key },
              body: command,
            }),
          ),
          attempt('post as a form would', () => text({ method: 'POST', body: command })),
          attempt('module', async () => Object.keys(await import(target)).join()),
          attempt('script', () => loaded(element('script', { src: target }))),
          attempt('image', () => loaded(element('img', { src: target }))),
          attempt('style sheet', () => loaded(element('link', { rel: 'stylesheet', href: target }))),
          attempt('video', () => heard(element('video', { src: target }), 'loadeddata')),
          attempt('event source', () => {
            const source = new EventSource(target);
            return heard(source, 'open').finally(() => source.close());
          }),
          attempt('web socket', () => heard(new WebSocket(target.replace('http', 'ws')), 'open')),
          attempt('frame', async () => {
            const frame = element('iframe', { src: target });
            await loaded(frame);
            return frame.contentWindow?.document.documentElement.textContent || undefined;
          }),
          attempt('object', async () => {
            const object = element('object', { data: target });
            await loaded(object);
            return object.contentDocument?.documentElement.textContent || undefined;
          }),
        ]);
      }
      // Sent and forgotten: their answers are nobody's, so what counts is that they did nothing.
      for (const path of paths) navigator.sendBeacon(url + path, command);
      for (const enctype of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
        const frame = element('iframe', { name: `frame ${enctype}` });
        const form = element('form', { method: 'post', action: `${url}/rdcp/v1/control`, enctype, target: frame.name });
        form.append(element('input', { name: command.slice(0, -1), value: '"}' }));
        document.body.append(frame, form);
        form.submit();
        await new Promise((resolve) => frame.addEventListener('load', resolve));
      }
      return learned;
    },
    { url: service.url, paths: EVERY_PATH, key: KEYS.admin },
  );
}

for (const [what, host] of [
  ['the same site, on another port', '127.0.0.1'],
  ['another site', 'localhost'],
  ['a name that leads to the same machine', 'stranger.test'],
] as const) {
  browserTest(`a page of ${what} tries everything, learns nothing and changes nothing`, async (t, browser) => {
    const service = await startService(t, { console: { traceUrl: 'https://traces.example.com/{traceId}' } });
    const { page, context } = await openPage(t, browser, `http://${host}:${await startStranger(t)}/`, {
      provoked: [/./],
    });
    // The operator has the console open in the same browser, and is signed in.
    const operator = await context.newPage();
    await operator.goto(service.console);
    await signIn(operator, KEYS.admin);

    const answers = answersOf(t, service);
    assert.deepEqual(await tryEverything(page, service), {});
    const kinds = new Set(answers.map(({ what }) => what));
    assert.ok(kinds.size > 6 * EVERY_PATH.length, `${kinds.size} kinds of requests arrived`);
    const served = answers.filter(({ status }) => status !== 403);
    assert.deepEqual(served, [], 'every request was refused');
    t.diagnostic(`${answers.length} requests of ${kinds.size} kinds`);

    const headers = { 'X-RDCP-API-Key': KEYS.admin };
    const ask = async <T>(path: string) => (await (await fetch(service.url + path, { headers })).json()) as T;
    const { categories } = await ask<DiscoveryResponse>(PATHS.discovery);
    assert.deepEqual(
      categories.filter(({ enabled }) => enabled),
      [],
    );
    const { entries } = await ask<AuditResponse>(`${PATHS.audit}?limit=1000`);
    const allowed = entries.filter(({ outcome, action }) => outcome !== 'denied' && action !== 'authenticate');
    assert.deepEqual(allowed, []);
  });
}

browserTest('a window that a stranger opens is out of its reach, and cannot be spoken to', async (t, browser) => {
  const service = await startService(t);
  const { page, context } = await openPage(t, browser, `http://localhost:${await startStranger(t)}/`, {
    provoked: [/./],
  });
  const opening = context.waitForEvent('page');
  const seen = await page.evaluate(async (url) => {
    const opened = window.open(url);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const result: Record<string, unknown> = { closed: opened?.closed };
    try {
      result.title = opened?.document.title;
    } catch (error) {
      result.title = (error as Error).name;
    }
    opened?.postMessage({ code: 'x', credential: 'x' }, '*');
    if (opened !== null && !opened.closed) opened.location.hash = '#code=stolen';
    return result;
  }, service.console);
  const opened = await opening;
  assert.deepEqual(seen, { closed: true, title: 'SecurityError' });
  await opened.locator('#credential').waitFor();
  assert.equal(await opened.evaluate(() => globalThis.opener), null);
  assert.equal(opened.url(), service.console);
});
