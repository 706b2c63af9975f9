// Opens new files at the same moment as the threads beside it, and tells what became of that.
import { parentPort, workerData } from 'node:worker_threads';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';

const { files, arrived, threads } = workerData as { files: string[]; arrived: Int32Array; threads: number };
const problems: string[] = [];
for (const [round, file] of files.entries()) {
  Atomics.add(arrived, round, 1);
  while (Atomics.load(arrived, round) < threads);
  try {
    const store = createSqliteStore(file);
    await store.check();
    await store.close();
  } catch (error) {
    problems.push(String(error));
  }
}
parentPort?.postMessage(problems);
