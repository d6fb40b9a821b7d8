import { type Tables, table } from '../platform/db/columns.ts'

export const operateColumns = {
  backup: table({ id: 'id', time: 'began_at finished_at', other: 'kind program' }),
} satisfies Tables
