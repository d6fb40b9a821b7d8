/** Every column of every table. */
import { identityColumns } from './identity/columns.ts'
import { messageColumns } from './messages/columns.ts'
import { operateColumns } from './operate/columns.ts'
import { platformColumns, type Tables } from './platform/db/columns.ts'
import { schoolColumns } from './school/columns.ts'

export const columns = {
  ...platformColumns,
  ...messageColumns,
  ...identityColumns,
  ...schoolColumns,
  ...operateColumns,
} satisfies Tables
