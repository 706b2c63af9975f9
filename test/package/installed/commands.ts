/**
 * A command line as a person types it after `rdcp`, and what it prints. Named groups of that are variables of the lines that
 * follow in the same list: `(?<ID>\w+)` is `$ID`.
 */
export type Row = readonly [line: string, printed: RegExp, more?: More];

export interface More {
  /** @default 0 */
  readonly code?: number;
  readonly stdin?: string;
  /** It runs on: it gets Ctrl-C once it has printed that. */
  readonly endless?: true;
  /** A line of the shell that runs again and again meanwhile; `$PRINTED` is what the command has printed. */
  readonly meanwhile?: string;
  /** Typed again until it prints that, for what takes effect or is recorded a moment later. */
  readonly again?: true;
  /** What the services have written by then. */
  readonly logged?: RegExp;
}

const LIMITS = `--allow 'DB_*' --allow-actions enable,tail --allow-for 5m --allow-rate 9 --allow-calls 99 --allow-bytes 9999`;
const TENANTS = `--tenants 'a*' --allow-tenants 'a*' --redact-tail --approval`;
const INITIALIZE = {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'agent', version: '1' },
};
const MCP = [
  { id: 1, method: 'initialize', params: INITIALIZE },
  { method: 'notifications/initialized' },
  { id: 2, method: 'tools/list' },
  { id: 3, method: 'tools/call', params: { name: 'list_categories', arguments: {} } },
].map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

/** Rows of a list run one after the other, beside the other lists. A new command or option needs a row here. */
export const COMMANDS: Readonly<Record<string, readonly Row[]>> = {
  measure: [
    ['enable BYTES --bytes 100 --forecast', /^BYTES +[1-9][\s\S]*^BYTES on for 15m, until /m],
    ['forecast ORDERS --for 1s --tenant acme', /^ORDERS +[1-9]/m],
    ["forecast ORDERS -m user.id=42 --where 'rows > 1' --text 'order *' --for 2s", /^ORDERS +[\d.]*[1-9]/m],
    ['forecast ORDERS --sample 1/1 --one --version 1.4.2 --for 1s', /^ORDERS +[1-9]/m],
    ['forecast ORDERS --on-error --slower-than 100ms --percent 50 --for 2s', /^ORDERS +[\d.]*[1-9]/m],
    [
      'explain ORDERS -m userid=42',
      /^ORDERS off\n {2}ORDERS was called \d+ times in 3 s; none had userid=42 \(attributes seen: /m,
    ],
    [
      "explain ORDERS --where 'rows > 1' --text 'order *' --sample 1/1 --one --version 1.4.2",
      /^ {2}rdcp tail ORDERS shows these lines/m,
    ],
    [
      'explain ORDERS --on-error --slower-than 100ms --percent 50',
      /^ORDERS off\n {2}ORDERS was called \d+ times in 3 s\.\n {2}rdcp tail ORDERS/m,
    ],
    ['list MAILS --measure', /^MAILS .* [1-9][\d.]* +steps/m],
  ],
  look: [
    ['list', /^ORDERS +off .* steps of ORDERS$/m],
    ['list --on', /^CATEGORY .*\nALWAYS +on /],
    ['list --all', /^HTTP_\w+ +off .* HTTP/m],
    ['list -o wide --tenant acme', /^CATEGORY .* DECIDED BY .* SOURCE .*\n[\s\S]*^CHATTY .* pino chatty /m],
    ['list ORDERS --json', /"name": "ORDERS"/],
    ['list ORDERS --url $CART --key-file ops.key', /^ORDERS +off /m],
    ['list ORDERS --profile cart', /^ORDERS +off /m],
    ['-s shop,cart list ORDERS', /^shop +ORDERS +off .*\ncart +ORDERS +off /m],
    ['list ORDERS --all-services', /^cart +ORDERS +off /m],
    ['status', /^ALWAYS +on\b/m],
    ['tenants', /^acme +Acme Ltd +ALWAYS/m],
    ['health', /^healthy\n[\s\S]*^store +pass /m],
    ['metrics', /^ALWAYS +\d+/m],
    ['console --no-open', /^http:\S+\/rdcp\/console\/#code=\S+$/m],
    ['console', /^Opened http:\S+\/rdcp\/console\/ in the browser, signed in\.$/m],
  ],
  tail: [
    [
      "tail ORDERS -m user.id=42 --where 'rows > 1' --lines 2",
      /^(?:\S+Z ORDERS order placed customer=42 rows=2 .*\n){2}/m,
    ],
    ["tail ORDERS --text 'order *' --sample 1/1 --rate 50 --for 1s", /^\S+Z ORDERS order placed customer=/m],
    ['tail KEPT --since 30s --lines 1', /^\S+Z KEPT order placed .* recorded /m],
    ['tail KEPT --since 30s --past -m url.path=/13', /^\S+Z KEPT order placed customer=13 .* recorded /m],
    ['failures KEPT -m url.path=/13 --since 50s --limit 5 -o wide', /^1 .* GET \/13 500 .* KEPT \d/m],
    ['failures KEPT --percent 100 --open 1', /^GET \/13 500 .*:\n(?:.*\n)*?\S+Z KEPT order placed customer=13/m],
    ['tail MAILS --also-log --lines 1', /^\S+Z MAILS order placed/m, { logged: / DEBUG MAILS order placed/ }],
    ['tail ORDERS --on-error --lines 1', /^GET \/13 500 .*:\n\S+Z ORDERS order placed customer=13/m],
    ['tail ORDERS --slower-than 100ms --lines 1', /^GET \/14 200 .*:\n\S+Z ORDERS order placed customer=14/m],
    ['tail ORDERS -s shop,cart --lines 1', /^cart \S+Z ORDERS order placed/m],
    ['fleet -o wide', /^\S+ +(?<PROCESS>[\w-]{36}) /m],
    ['tail ORDERS --instance $PROCESS --version 1.4.2 --one --lines 1', /^\S+Z ORDERS order placed/m],
    ['tail ORDERS --percent 50 --lines 1', /^\S+Z ORDERS order placed/m],
    ['forecast ORDERS --instance $PROCESS --for 1s', /^ORDERS +[1-9]/m],
    ['failures KEPT --slower-than 100ms --instance $PROCESS --version 1.4.2 --one', /^\d+ .* GET \/14 200 /m],
    ['explain ORDERS --instance $PROCESS', /^ {2}rdcp tail ORDERS shows these lines/m],
    ['enable STOCK --instance $PROCESS --dry-run', /^STOCK would be on for [\w-]{36}, /m],
    ['record STOCK --instance $PROCESS --dry-run', /^STOCK would be recorded for [\w-]{36}, /m],
    ['request DB_READ --for 10m --reason checkout', /^curl -H 'baggage: rdcp\.debug=\S+' URL\n/],
    ['request DB_READ --instance $PROCESS', /^curl -H 'baggage: rdcp\.debug=\S+' URL\n/],
    ['request DB_READ --one --version 1.4.2', /^curl -H 'baggage: rdcp\.debug=\S+' URL\n/],
    ['request DB_READ --percent 50', /^curl -H 'baggage: rdcp\.debug=\S+' URL\n/],
    [
      'request TRACED --tail --also cart --for 20s',
      /^\S+Z TRACED order placed customer=77 .* shop /m,
      { endless: true, meanwhile: 'eval "$(echo "$PRINTED" | grep ^curl | sed s,URL,$APP/77,)"' },
    ],
  ],
  enable: [
    [
      "enable PRICES -m user.id=42 --for 5m --reason 'slow checkout'",
      /^PRICES on for user\.id=42, for 5m, .*rdcp end --id (?<ID>\w+)/m,
      { logged: / DEBUG PRICES order placed \{"customer":42/ },
    ],
    ['end --id $ID', /^Ended PRICES/],
    [
      "enable PICKED --where 'rows > 1' --text 'order *' --sample 1/1 --on-error --slower-than 100ms",
      /^PICKED on for .*rows > 1/m,
      { logged: / DEBUG PICKED order placed \{"customer":14,.*GET \/14 200 / },
    ],
    [
      'enable STOCK --percent 50 --version 1.4.2 --dry-run',
      /^STOCK would be on for version 1\.4\.2, 50 % of the processes/m,
    ],
    ['enable STOCK --one --dry-run', /^STOCK would be on for one process.*\nDry run/m],
    ['enable CHATTY --level info', /^CHATTY on from info up/m],
    [
      'record MAILS -m user.id=42 --for 7d --level info --reason complaints --yes',
      /^MAILS recorded for user\.id=42, from info up, for 7d, .*rdcp end --id/m,
    ],
    ['end MAILS', /1 activation ended/],
    [
      "record STOCK --where 'rows > 1' --text 'order *' --sample 1/1 --one --version 1.4.2 --permanent --dry-run",
      /^STOCK would be recorded for .* without an end/m,
    ],
    ['record STOCK --percent 50 --dry-run', /^STOCK would be recorded for 50 % of the processes, for 1d/m],
    ['quieten CHATTY --dry-run', /^CHATTY would be quiet below warn [\s\S]*Dry run/m],
    ['quieten CHATTY --above error --for 1h --reason noise --yes', /^CHATTY quiet below error for 1h/m],
    ['enable BUDGETS --rate 50 --calls 2', /^BUDGETS on for 15m, until /m],
    ['audit --category BUDGETS --action expire', / expire +BUDGETS[,\w]* +success +budget$/m, { again: true }],
    ['enable FREE --unlimited', /^FREE on for 15m/m],
  ],
  switch: [
    ['enable LASTING --permanent', /^LASTING on without an end$/m],
    ['end LASTING', /^Still on, .*: rdcp disable LASTING$/m],
    ['disable LASTING --dry-run', /^LASTING would be off$[\s\S]*Dry run/m],
    ['disable LASTING --for 1h --reason noise --yes', /^LASTING off for 1h/m],
    ['reset LASTING --reason quiet --yes', /^LASTING already off$/m],
    ["enable 'DB_*' --yes", /^DB_READ, DB_WRITE on for 15m/m],
    ['reset --all --dry-run', /Dry run/],
    ['end --all --dry-run', /Dry run/],
    ['toggle STOCK --permanent --dry-run', /^STOCK would be on without an end$[\s\S]*Dry run/m],
    ['toggle SPARE --unlimited', /^SPARE on for 15m/m],
    ['toggle TOGGLED --for 5m --rate 9 --calls 9999 --bytes 999999 --reason checkout --yes', /^TOGGLED on for 5m/m],
    ['end TOGGLED --reason over --yes', /^TOGGLED off$/m],
    ['enable IMPORT --for 5m --print', /^ey\S+\.\S+\.\S+\nSigned document /],
    ['watch WATCHED', /^\S+ WATCHED on for 15m/m, { endless: true, meanwhile: 'rdcp toggle WATCHED' }],
    ['enable STOCK -o json', /"revision": (?<REVISION>\d+)/],
    ['wait $REVISION --timeout 5s', /^revision \d+ is applied/],
    ['notifications', /^\S+ +change +delivered +1 +200$/m, { again: true }],
  ],
  audit: [
    [
      'audit --limit 1 --since 1h --until 2100-01-01T00:00:00.000Z --client ops --outcome success',
      / ops .* success[\s\S]*--cursor (?<CURSOR>\S+)/,
      { again: true },
    ],
    ['audit --limit 1 --cursor $CURSOR', /^TIME .*\n.* ops /],
    ['audit verify --save-checkpoints saved', /^The trail is whole: /],
    ['audit verify --checkpoints saved --checkpoint "$(cut -d: -f1-3 saved)"', /^The trail is whole: /],
    ['audit verify --public-key audit.pub --signed-since 2026-01-01T00:00:00.000Z', /^The trail is whole: /],
    ['audit verify --public-key signing.pub', /NOT whole[\s\S]*signed with an unknown key/, { code: 1 }],
    [
      'audit verify --store sqlite:shop.sqlite --records records.jsonl --service shop',
      /^The trail is whole: [\s\S]*after its last checkpoint or record/,
      { again: true },
    ],
  ],
  keys: [
    [
      `keys create --file keys.json --client bob --user bob --scopes discovery,control,tail ${LIMITS} ${TENANTS} --env test --expires 90d > bob.key`,
      /^Added (?<KEY>\S+) to keys\.json: client bob; .* only DB_\*: enable, tail, .* else with approval; expires in 90d/,
    ],
    [
      'keys create --file keys.json --client eve --tenant acme --scopes discovery > eve.key',
      /client eve; .* tenant acme/,
    ],
    ['keys list --file keys.json', /^\S+ +bob .* active +DB_\*/m],
    ['list ORDERS --key-file eve.key', /^ORDERS +off /m, { again: true }],
    ['tail DB_READ --key-file bob.key --tenant acme --lines 1', /order placed customer=\[redacted\]/],
    ['enable DB_WRITE --key-file bob.key --tenant acme --for 10m', /rdcp approve (?<WAITING>\w+)/, { code: 1 }],
    ['approve', /^\S+ +\S.* bob \(acme\) +enable DB_WRITE for 10m /m],
    ['approve $WAITING', /^Enabled DB_WRITE until /],
    ['enable DB_WRITE --key-file bob.key --tenant acme --for 11m', /rdcp approve (?<WAITING>\w+)/, { code: 1 }],
    ['approve $WAITING --decline', /^Declined by /],
    ['keys revoke --file keys.json $KEY', /^Revoked key-/],
    ['list --key-file bob.key', /RDCP_AUTH_FAILED/, { code: 1, again: true }],
  ],
  token: [
    [
      'token create --scopes discovery,status --refresh-file session > token',
      /^Valid for 15m; scopes discovery, status/,
    ],
    ['status --token-file token', /^ALWAYS +on\b/m],
    ['token refresh --refresh-file session --scopes status', /^ey\S+\nValid for 15m; scopes status\.$/m],
    ['token revoke --refresh-file session', /^Revoked\./],
    ['status --token-file token', /RDCP_AUTH_FAILED/, { code: 1 }],
    ['token create > token', /^Valid for /],
    ['token revoke --token-file token', /^Revoked\./],
  ],
  login: [
    [
      'login --profile pay --url $PAY --ca ca.pem --cert dora.pem --cert-key dora-key.pem',
      /^Logged in to https:\S+ as dora \(discovery\); profile pay/,
    ],
    ['list ORDERS --profile pay', /^ORDERS +off /m],
    ['profiles', /^pay +https:\S+ +- +certificate$/m],
    ['logout --profile pay', /^Removed profile pay/],
    ['login --profile filed --url $SHOP --key-file ops.key', /^Logged in .*; profile filed/],
    ['login --profile acme --url $SHOP --tenant acme < ops.key', /^Logged in .*; profile acme/],
    ['token create --scopes discovery > login.token', /^Valid for /],
    ['login --profile short --token --url $SHOP < login.token', /^Logged in .* as ops \(discovery\); profile short/],
  ],
  'set up': [
    ['init', /node --import opentelemetry-instrumentation-rdcp\/register app\.js/],
    ['init --write started', /script "start" \(written\):\n- node app\.js\n\+ node --import \S+\/register app\.js/],
    ['mcp --print-config --profile cart', /claude mcp add rdcp -- npx .* rdcp mcp --profile cart/],
    ['mcp --allow-writes', /"name":"enable"[\s\S]*ORDERS[\s\S]*"id":3/, { endless: true, stdin: MCP.join('') }],
    ['completion zsh', /^compdef _rdcp rdcp|compdef _rdcp rdcp$/m],
    ['completion fish', /^complete -c rdcp /m],
    ['completion bash > completion.bash', /^$/],
    ['store migrate --store "$POSTGRES_URL"', /^Schema rdcp: version \d+, new/],
  ],
};
