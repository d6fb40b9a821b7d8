/**
 * Loaded into every process that tests a file: whatever a failed test left running must not keep the file from ending.
 * Node's own forced exit does not wait for a report to be read, and cuts it off.
 */
import { after } from 'node:test'

const patienceMs = 60_000

after(() => {
  setTimeout(() => process.exit(), patienceMs).unref()
})
