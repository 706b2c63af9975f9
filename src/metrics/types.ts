import type { AuthMethod, ControlAction } from '../protocol/constants.ts';
import type { AuditOutcome } from '../protocol/messages.ts';

/** Calls by category. */
export interface CallMeasurements {
  /** Calls of a category emitted since the process started. */
  callsTotal(index: number): number;
  /** Over the configured window, or the life of the process while that is shorter. */
  callsPerSecond(index: number): number;
}

/** What is measured, for the answers of discovery, status and metrics. The Prometheus scrape reads the same slots. */
export interface Measurements extends CallMeasurements {
  /** Of the calls emitted in a tenant's context; zero where tenants are not counted apart. */
  ofTenant(tenantId: string): CallMeasurements;
  /** The process now; what this platform cannot measure is absent. */
  process(): {
    /** Percent of one core, over the window. */
    readonly cpuUsage?: number;
    /** Resident set, bytes. */
    readonly memoryUsage?: number;
    /** V8 heap in use, bytes. */
    readonly heapUsed?: number;
    /** 99th percentile of the event-loop delay, milliseconds. */
    readonly eventLoopDelay?: number;
  };
}

/** The endpoint's own counters. */
export interface ControlInstruments {
  /** `denied` for a request that asked for what cannot be done, `failed` for one that could not be carried out. */
  controlRequest(action: ControlAction, outcome: AuditOutcome, seconds: number): void;
  authFailure(method: AuthMethod | 'none', reason: string): void;
}
