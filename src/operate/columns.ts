import type { Tables } from '../platform/db/columns.ts'

export const operateColumns = {
  backup: { id: 'id', kind: 'other', began_at: 'time', finished_at: 'time', program: 'other' },
} as const satisfies Tables
