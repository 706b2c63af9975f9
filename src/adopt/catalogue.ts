import type { Gate } from '../gate/types.ts';
import type { AdoptRule } from '../options/adopt.ts';
import { escapeUnprintable } from '../printable.ts';
import type { DiscoveredSource } from '../protocol/messages.ts';
import { LoggerCategory } from './category.ts';
import { CategoryNames } from './names.ts';
import type { AboutLogger, SourceKind } from './types.ts';

interface Logger {
  readonly name: string;
  readonly kind: SourceKind;
  readonly version: string | undefined;
  readonly category: LoggerCategory;
}

/** The loggers that have a category. */
export class Catalogue {
  readonly #gate: Pick<Gate, 'category'>;
  readonly #names: CategoryNames;
  readonly #loggers = new Map<string, Logger>();
  /** Loggers by the name of their category. */
  readonly #members = new Map<string, Set<Logger>>();
  /** Names that a logger has just given up, with its description. */
  readonly #movedFrom = new Map<string, string>();
  readonly #warn: (message: string) => void;
  #full = false;

  constructor(gate: Pick<Gate, 'category'>, rules: readonly AdoptRule[], warn: (message: string) => void) {
    this.#gate = gate;
    this.#warn = warn;
    this.#names = new CategoryNames(rules, (logger, name) => this.#move(logger, name));
  }

  /** @param group name of the category, whatever the logger's name and the rules are */
  category(kind: SourceKind, name: string, about: AboutLogger = {}, group?: string): LoggerCategory | undefined {
    // Loggers of one name may be in several groups.
    const key = group === undefined ? name : `${group}\n${name}`;
    const known = this.#loggers.get(key);
    if (known !== undefined) return known.category;
    if (this.#full) return undefined;
    const { enabledByDefault = false, version } = about;
    try {
      const assigned = this.#names.assign(name, group);
      if (assigned === undefined) return undefined;
      const gated = this.#gate.category(assigned.name, {
        ...(assigned.description !== undefined && { description: assigned.description }),
        // Without a default, that of an own category of this name counts.
        ...(enabledByDefault && { enabled: true }),
      });
      const { description = descriptionOf(kind, name, version) } = about;
      gated.suggestDescription(description, this.#movedFrom.get(assigned.name));
      this.#movedFrom.delete(assigned.name);
      const category = new LoggerCategory(gated, () => this.#setDefault(category.name));
      category.enabledByDefault = enabledByDefault;
      const logger = { name, kind, version, category };
      this.#loggers.set(key, logger);
      this.#join(assigned.name, logger);
      return category;
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.#full = true;
      this.#warn(
        `adopt: the limit of ${this.#loggers.size} adopted categories is reached (limits.maxCategories): further loggers stay as they are`,
      );
      return undefined;
    }
  }

  /** Where a category comes from; `undefined` for one that only code of ours registered. */
  sourceOf(category: string): DiscoveredSource | undefined {
    const members = [...(this.#members.get(category) ?? [])];
    if (members.length === 0) return undefined;
    const { kind, name, version } = members.reduce((first, each) => (each.name < first.name ? each : first));
    return { kind, name, ...(version && { version }), count: members.length };
  }

  /** Loggers may be registered again: the limit may be another one. */
  reopen(): void {
    this.#full = false;
  }

  #join(category: string, logger: Logger): void {
    this.#members.set(category, (this.#members.get(category) ?? new Set()).add(logger));
  }

  #setDefault(category: string): void {
    const members = [...(this.#members.get(category) ?? [])];
    members[0]?.category.gated.setDefault(members.some((member) => member.category.enabledByDefault));
  }

  /** Gives a logger another category, because a logger with the better claim to its name has come. */
  #move(name: string, to: string): void {
    const logger = this.#loggers.get(name);
    if (logger === undefined) return;
    const { category } = logger;
    const { name: from, description } = category.gated;
    const gated = this.#gate.category(to, category.enabledByDefault ? { enabled: true } : {});
    gated.suggestDescription(description);
    this.#movedFrom.set(from, description);
    category.move(gated);
    this.#members.get(from)?.delete(logger);
    this.#join(to, logger);
    if (category.enabledByDefault) category.gated.setDefault(true);
  }
}

/** Longest part of a logger's name in a description. */
const MAX_NAME_LENGTH = 100;

function descriptionOf(kind: SourceKind, name: string, version: string | undefined): string {
  const library = version === undefined ? kind : `${kind} ${version}`;
  return `debug lines of ${escapeUnprintable(name.slice(0, MAX_NAME_LENGTH))} (${library})`;
}
