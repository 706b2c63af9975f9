import type { ArgumentRedaction } from '../calls/emit/arguments.ts';
import type { Gate } from '../gate/types.ts';
import type { AdoptRule } from '../options/adopt.ts';
import type { DiscoveredSource } from '../wire/messages.ts';
import { escapeUnprintable } from '../wire/printable.ts';
import { callerOfLogger } from './calling-package.ts';
import { AdoptedCategory } from './category.ts';
import { APPLICATION } from './loggers.ts';
import { boundedName, CategoryNames } from './names.ts';
import { NewNames } from './new-names.ts';
import type { AboutLogger, SourceKind } from './types.ts';

interface Logger {
  readonly name: string;
  readonly kind: SourceKind;
  readonly version: string | undefined;
  readonly category: AdoptedCategory;
}

/**
 * Most categories of loggers, where the gate takes 4,096: the application's own ones must fit, however many names loggers have.
 * An index of the gate cannot be used again, because handles keep it.
 */
const MAX_CATEGORIES = 3072;
/** Most loggers of one group that are known by name. Further ones share what the first one has. */
const MAX_MEMBERS = 256;

export interface CatalogueOptions {
  readonly gate: Pick<Gate, 'category'>;
  /** The option `adopt.map`. */
  readonly rules: readonly AdoptRule[];
  readonly warn: (message: string) => void;
  readonly redaction: ArgumentRedaction;
  /** The option `recorder.guards`. */
  readonly guards: () => boolean;
  /** Milliseconds of a clock that never goes back. @default that of this process */
  readonly now?: () => number;
  /** The option `limits.maxCategories`. @default the gate's own limit */
  readonly maxCategories?: number | undefined;
}

/** The loggers that have a category. */
export class Catalogue {
  readonly #names: CategoryNames;
  readonly #loggers = new Map<string, Logger>();
  /** Loggers by the name of their category. */
  readonly #members = new Map<string, Set<Logger>>();
  /** Names that a logger has just given up, with its description. */
  readonly #movedFrom = new Map<string, string>();
  readonly #options: CatalogueOptions;
  readonly #newNames: NewNames;
  readonly #maxCategories: number;
  #full = false;

  constructor(options: CatalogueOptions) {
    const { rules, warn, now = () => performance.now(), maxCategories = Number.POSITIVE_INFINITY } = options;
    this.#options = options;
    this.#newNames = new NewNames(warn, now);
    this.#maxCategories = Math.min(MAX_CATEGORIES, Math.ceil((maxCategories * 3) / 4));
    this.#names = new CategoryNames(rules, (logger, name) => this.#move(logger, name));
  }

  /** @param group name of the category, whatever the logger's name and the rules are */
  category(kind: SourceKind, given: string, about: AboutLogger = {}, group?: string): AdoptedCategory | undefined {
    const name = boundedName(given);
    // Loggers of one name may be in several groups, and of several libraries: each has its own default.
    const key = `${group ?? ''}\n${kind}\n${name}`;
    const known = this.#loggers.get(key);
    if (known !== undefined) {
      known.category.called();
      return known.category;
    }
    const groupName = group ?? this.#names.groupOf(name);
    if (groupName !== undefined) {
      const members = this.#members.get(groupName);
      if (members !== undefined && members.size >= MAX_MEMBERS) return [...members][0]?.category;
    }
    const parent = about.parent?.name ?? parentOf(name);
    const isPart = about.parent === undefined && parent !== APPLICATION;
    const dataOf = groupName === undefined && parent !== name ? this.#newNames.add(parent, isPart) : undefined;
    if (dataOf !== undefined || this.#isFull()) {
      return about.parent ?? (parent === name ? undefined : this.category(kind, dataOf ?? parent));
    }
    const { enabledByDefault = false } = about;
    const version = about.version || undefined;
    try {
      const assigned = this.#names.assign(name, group);
      if (assigned === undefined) return undefined;
      const gated = this.#options.gate.category(assigned.name, {
        ...(assigned.description !== undefined && { description: assigned.description }),
      });
      const { description = descriptionOf(kind, name, version) } = about;
      gated.suggestDescription(description, this.#movedFrom.get(assigned.name));
      this.#movedFrom.delete(assigned.name);
      // A logger without a name is one that a framework makes for the application.
      const maker = name === APPLICATION ? undefined : callerOfLogger()?.package;
      const { redaction, guards } = this.#options;
      const category = new AdoptedCategory({ gated, redaction, enabledByDefault, maker, guards });
      const logger = { name, kind, version, category };
      this.#loggers.set(key, logger);
      this.#join(assigned.name, logger);
      return category;
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.#fill();
      return about.parent;
    }
  }

  #isFull(): boolean {
    if (!this.#full && this.#members.size >= this.#maxCategories) this.#fill();
    return this.#full;
  }

  #fill(): void {
    this.#full = true;
    this.#options.warn(
      `adopt: the limit of ${this.#members.size} adopted categories is reached (limits.maxCategories): further loggers belong to the category of their parent, or stay as they are`,
    );
  }

  /** Where a category comes from; `undefined` for one that only code of ours registered. */
  sourceOf(category: string): DiscoveredSource | undefined {
    const members = [...(this.#members.get(category) ?? [])];
    if (members.length === 0) return undefined;
    const order = ({ name, kind }: Logger) => `${name}\n${kind}`;
    const first = members.reduce((first, each) => (order(each) < order(first) ? each : first));
    const { kind, name, version, category: own } = first;
    const isOfPackages = members.every((each) => each.category.package !== undefined);
    const onByItself = members.filter((each) => each.category.enabledByDefault).length;
    return {
      ...{ kind, name, count: members.length },
      ...(onByItself > 0 && { onByItself }),
      ...(version && { version }),
      ...(own.package && isOfPackages && { package: own.package }),
    };
  }

  #join(category: string, logger: Logger): void {
    this.#members.set(category, (this.#members.get(category) ?? new Set()).add(logger));
  }

  /** Gives a logger another category, because a logger with the better claim to its name has come. */
  #move(name: string, to: string): void {
    for (const [key, logger] of this.#loggers) {
      if (logger.name !== name || !key.startsWith('\n')) continue;
      const { category } = logger;
      const { name: from, description } = category.gated;
      const gated = this.#options.gate.category(to);
      gated.suggestDescription(description);
      this.#movedFrom.set(from, description);
      category.move(gated);
      this.#members.get(from)?.delete(logger);
      this.#join(to, logger);
    }
  }
}

/** The name of a logger's parent, where the logger itself knows none. */
function parentOf(name: string): string {
  const end = name.indexOf(':');
  return end > 0 ? name.slice(0, end) : APPLICATION;
}

/** Longest part of a logger's name in a description. */
const MAX_NAME_LENGTH = 100;

function descriptionOf(kind: SourceKind, name: string, version: string | undefined): string {
  const library = version === undefined ? kind : `${kind} ${version}`;
  return `debug lines of ${escapeUnprintable(name.slice(0, MAX_NAME_LENGTH))} (${library})`;
}
