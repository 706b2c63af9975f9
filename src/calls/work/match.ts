import { context } from '@opentelemetry/api';
import type { WorkContext } from '../../gate/work.ts';
import { RdcpError } from '../../wire/errors.ts';
import { isHidden, type Redaction } from '../../wire/redaction.ts';
import type { Match } from '../../wire/target.ts';
import { attributeNamesOfWork } from './attributes.ts';
import { ticketOfRequest } from './carried-ticket.ts';
import { HttpRequests } from './http-requests.ts';
import { Matching } from './matching.ts';
import { WorkOutcomes } from './outcomes.ts';

interface WorkSources {
  readonly requests: HttpRequests;
  readonly outcomes: WorkOutcomes;
}

/** Each request is one piece of work, however many control planes the process has. */
const followed = new WeakMap<WorkContext, WorkSources>();

function followedOf(work: WorkContext): WorkSources {
  const known = followed.get(work);
  if (known !== undefined) return known;
  const requests = new HttpRequests(work);
  const first = { requests, outcomes: new WorkOutcomes(work, requests) };
  followed.set(work, first);
  return first;
}

/** Follows the attributes of the work of this process. */
export class WorkFollower {
  readonly #work: WorkContext;
  readonly #redaction: Redaction;
  readonly #requests: HttpRequests;
  /** How pieces of work end. */
  readonly outcomes: WorkOutcomes;

  /** @param redaction what must not leave the process. @default nothing is hidden */
  constructor(work: WorkContext, redaction: Redaction = { hides: () => false, mask: (text) => text }) {
    this.#work = work;
    this.#redaction = redaction;
    const { requests, outcomes } = followedOf(work);
    this.#requests = requests;
    this.outcomes = outcomes;
  }

  /**
   * @param place of the attributes in the request
   * @throws {RdcpError} `RDCP_MALFORMED_REQUEST` for a name that redaction hides: its value could be guessed by matching
   */
  check(match: Match, place = 'target.match'): void {
    const hidden = Object.keys(match).find((name) => isHidden(name, this.#redaction));
    if (hidden === undefined) return;
    const field = `${place}.${hidden}`;
    throw new RdcpError('RDCP_MALFORMED_REQUEST', `${field} is an attribute whose value is redacted`, {
      details: { field },
    });
  }

  /** Names of attributes that the current work has. */
  attributeNames(): Iterable<string> {
    return attributeNamesOfWork({ work: this.#work.current(), active: context.active() });
  }

  /** Makes what finds items for the current work. */
  matching<T>(): Matching<T> {
    return new Matching({
      work: this.#work,
      redaction: this.#redaction,
      followRequests: () => this.#requests.follow(),
    });
  }

  /**
   * Calls back with the ticket of each HTTP request that carries one, before the application gets the request.
   * @param carried must not throw
   * @returns a function that ends it
   */
  followTickets(carried: (ticket: string) => void): () => void {
    return this.#requests.follow((request) => {
      const ticket = ticketOfRequest(request);
      if (ticket !== undefined) carried(ticket);
    });
  }
}
