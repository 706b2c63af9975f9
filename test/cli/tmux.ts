import { execFileSync, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

/** A real terminal, with a shell in it. */
export interface TerminalWindow {
  /** Types a line, with Enter. */
  type(line: string): void;
  /** Types these characters alone. */
  keys(characters: string): void;
  /** Presses a key, by tmux's name for it: `C-c`, `Tab`. */
  press(key: string): void;
  /** Everything shown so far, also what has scrolled away. */
  shown(): string;
  /** The rows of the screen as they are, with the escape sequences of their styles. */
  screen(): string[];
  /** Clears what was shown. */
  clear(): Promise<void>;
  /** Waits until that is shown; returns everything shown. */
  until(pattern: RegExp, ms?: number): Promise<string>;
  close(): void;
}

export function openTerminal(
  env: Readonly<Record<string, string>>,
  cwd: string,
  { prompt = 'ready> ', columns = 220, rows = 50 } = {},
): TerminalWindow {
  // A server of its own: tests that run at the same time, and people, have others.
  const socket = `rdcp-${randomUUID()}`;
  const tmux = (...args: string[]) =>
    execFileSync('tmux', ['-L', socket, '-f', '/dev/null', ...args], { encoding: 'utf8', cwd });
  const inherited = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(?:RDCP_|TMUX|NODE_|NO_COLOR|FORCE_COLOR)/.test(name)),
  );
  const shell = ['env', `PS1=${prompt}`, 'bash', '--norc', '--noprofile'];
  const size = ['-x', String(columns), '-y', String(rows)];
  spawnSync('tmux', ['-L', socket, '-f', '/dev/null', 'new-session', '-d', ...size, ...shell], {
    cwd,
    env: { ...inherited, ...env, TERM: 'xterm-256color' },
  });
  tmux('set-option', '-g', 'history-limit', '50000');
  const shown = () => tmux('capture-pane', '-p', '-J', '-S', '-');
  return {
    type: (line) => {
      tmux('send-keys', '-l', '--', line);
      tmux('send-keys', 'Enter');
    },
    keys: (characters) => void tmux('send-keys', '-l', '--', characters),
    screen: () => tmux('capture-pane', '-p', '-e').split('\n'),
    press: (key) => void tmux('send-keys', key),
    shown,
    clear: async () => {
      tmux('send-keys', 'C-l');
      const deadline = performance.now() + 5000;
      // The prompt alone is left.
      while (tmux('capture-pane', '-p').trim().includes('\n')) {
        if (performance.now() > deadline) throw new Error(`the screen was not cleared within 5 s:\n${shown()}`);
        await sleep(20);
      }
      tmux('clear-history');
    },
    until: async (pattern, ms = 30_000) => {
      for (const deadline = performance.now() + ms; ; await sleep(50)) {
        const text = shown();
        if (pattern.test(text)) return text;
        if (performance.now() > deadline) throw new Error(`not shown within ${ms} ms: ${pattern}\n${text}`);
      }
    },
    close: () => void spawnSync('tmux', ['-L', socket, 'kill-server']),
  };
}
