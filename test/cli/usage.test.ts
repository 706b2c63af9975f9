import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { newFolder } from '../support/folder.ts';
import { rdcp } from './run.ts';

const KEY = ['keys', 'create', '--file', 'k.json', '--client', 'ops', '--scopes', 'status'];
const ANY = /^rdcp: /;

/** What each command does not take, with what it says; nothing is asked, opened or written. */
const WRONG: Readonly<
  Record<string, readonly (readonly [args: string | readonly string[], problem?: RegExp | undefined])[]>
> = {
  'of the categories that are switched': [
    ...['enable', 'reset', 'tail', 'forecast'].map(
      (command) => [command, /which category\? 'rdcp list' shows them\n$/] as const,
    ),
    ['enable SQL --permanent --for 5m'],
    ['enable SQL --permanent --calls 5'],
    ['enable SQL --permanent -m user.id=42'],
    ['enable SQL --permanent --on-error'],
    ['enable SQL --permanent --one'],
    ['enable SQL -m user.id'],
    ['enable SQL --one --percent 5'],
    ['enable SQL --percent 0'],
    ['enable SQL --percent 101%'],
    ['enable SQL --slower-than 2'],
    ['enable SQL --slower-than soon'],
    ...['warn', 'fatal', '3'].map(
      (level) => [`enable SQL --level ${level}`, /--level must be one of silly, trace, debug, info\n$/] as const,
    ),
    ['quieten SQL --permanent'],
    ...['fatal', 'info'].map(
      (level) => [`quieten SQL --above ${level}`, /--above must be one of warn, error\n$/] as const,
    ),
    ['record SQL --permanent --for 1h'],
    ['record SQL --level warn'],
    ['record SQL --for soon'],
    ['reset SQL --all'],
    ['disable SQL --all'],
    ['end SQL --id x'],
    ['end --all --id x'],
  ],
  'of the lines that are read': [
    ['tail SQL -m user.id', /--match must be NAME=VALUE, such as user\.id=42, not user\.id\n$/],
    ['tail SQL -m a=1 -m a=2', /--match names a more than once\n$/],
    ['tail SQL --sample 2', /--sample must be a share above 0, up to 1, such as 1\/100 or 0\.01\n$/],
    ['tail SQL --past', /--past needs --since/],
    ['request SQL --tail --one'],
    ['request SQL --also billing', /--also is for --tail/],
  ],
  'of what is shown': [
    ['list -o yaml'],
    ['list -o wide --json'],
    ['list --profile shop', /there is no profile 'shop' \(there is none yet\)/],
    ['list --key-file /dev/null/key', /--key-file: \/dev\/null\/key cannot be read \(ENOTDIR\)\n$/],
    ['status SQL'],
    [['status', '--tenant', 'a b']],
    ['status --key-file a --token-file b'],
    ['audit --action explode'],
    ['audit --since yesterday', /--since must be a duration such as 2h \(ago\) or a time such as /],
    ['completion tcsh', /the shell must be one of bash, zsh, fish\n$/],
    ...(
      [
        ['-s shop --url http://a', /--service cannot be combined with --url\n$/],
        ['--all-services --profile shop', /--all-services cannot be combined with --profile\n$/],
        ['--all-services -s shop', /--all-services cannot be combined with --service\n$/],
        ['--all-services', /--all-services: there is none yet: 'rdcp login' adds one\n$/],
      ] as const
    ).map(([args, problem]) => [`list ${args}`, problem] as const),
  ],
  'of the trail that is verified': [
    ['audit verify extra'],
    ['audit verify --store sqlite:no-such.db'],
    ['audit verify --store memory:'],
    ['audit verify --store sqlite:x --url http://127.0.0.1:1'],
    ['audit verify --checkpoint a:0:00'],
    ['audit verify --records no-such', /--records: \S*no-such does not exist\n$/],
    ['audit verify --service shop', /--service needs --records\n$/],
    ['audit verify --signed-since 2026-01-01T00:00:00.000Z', /--signed-since needs --public-key\n$/],
  ],
  'of a change that waits, or a token': [
    ['approve --decline', /which change\? 'rdcp approve' lists them\n$/],
    ['token create status'],
    ['token create --scopes root'],
    ['token refresh'],
    ['token refresh --refresh-file /dev/null'],
    ['token revoke'],
    ['token revoke --refresh-file a --token-file b'],
  ],
  'of a key': [
    ['keys frobnicate'],
    ['keys create --client ops --scopes status'],
    ['keys create --file k.json --scopes status'],
    ['keys create --file k.json --client ops'],
    ['keys create --file k.json --client ops --scopes status,root'],
    [['keys', 'create', '--file', 'k.json', '--client', 'o s', '--scopes', 'status']],
    ['keys list --file k.json x'],
    ['keys revoke --file k.json'],
    ...(
      [
        ['--bogus'],
        ['--env X'],
        ['--expires soon'],
        ['--expires 99999999d'],
        ['--allow-for 15m', /--allow-for needs --allow/],
        ['--approval', /--approval needs --allow/],
        ['--allow=', /--allow must not be empty/],
        ['--allow *_POOL', /--allow must be a category name/],
        ['--allow DB_* --allow-actions status', /--allow-actions /],
        ['--allow DB_* --allow-tenants a=b', /--allow-tenants must be the id of a tenant/],
        ['--allow DB_* --allow-for long', /--allow-for must be a duration/],
      ] as const
    ).map(([args, problem]) => [[...KEY, ...args.split(' ')], problem] as const),
  ],
};

describe('a usage error is one line, exit code 2, and leaves no file', () => {
  for (const [what, rows] of Object.entries(WRONG)) {
    it(what, async (t) => {
      const cwd = newFolder(t);
      for (const [args, problem = ANY] of rows) {
        const typed = typeof args === 'string' ? args.split(' ') : args;
        const words = typed.map((word) => (word === 'k.json' ? join(cwd, word) : word));
        const { code, stdout, stderr } = await rdcp(words, { cwd });
        assert.deepEqual([code, stdout], [2, ''], `${words.join(' ')}: ${stderr}`);
        assert.match(stderr, /^rdcp: [^\n]+\n$/, words.join(' '));
        assert.match(stderr, problem, words.join(' '));
      }
      assert.deepEqual(readdirSync(cwd), []);
    });
  }
});
