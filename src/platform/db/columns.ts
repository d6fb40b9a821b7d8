/**
 * What the columns of a table contain: each group lists its own tables in a `columns.ts`. Closing an account erases by
 * these lists. test/columns.test.ts uses them to find data that an export omits, data that closing leaves behind, and
 * columns that no list has.
 */

export interface Personal {
  /** What closing an account does: set it to null or to an empty text, delete its row, or the reason to keep it. */
  readonly closing: 'null' | 'empty' | 'row' | Because
  /** Where the owner's export shows it, or the reason why not. */
  readonly export: string | Because
}

interface Because {
  readonly because: string
}

export type Column = 'id' | 'time' | 'fingerprint' | 'secret' | 'other' | Personal
export type Table = Readonly<Record<string, Column>>
export type Tables = Readonly<Record<string, Table>>

/** A table, by what its columns contain. */
export function table(
  columns: { readonly [Kind in Exclude<Column, Personal>]?: string },
  personal: Readonly<Record<string, Personal>> = {},
): Table {
  const plain = Object.entries(columns).flatMap(([kind, names]) =>
    names.split(' ').map((name): [string, Column] => [name, kind as keyof typeof columns]),
  )
  return { ...Object.fromEntries(plain), ...personal }
}

export const shown = (closing: Personal['closing'], where: string) => ({ closing, export: where })
export const hidden = (closing: Personal['closing'], because: string) => ({ closing, export: { because } })

export const lowerCased = 'the address that is shown, lower-cased'
export const foldedName = 'the name that is shown, without case and accents'

export const isPersonal = (column: Column): column is Personal => typeof column === 'object'

const emptyValue = { null: 'null', empty: "''" } as const

/** The assignments that erase what is personal in a row. */
export function erasing(table: Table): string {
  return Object.entries(table)
    .flatMap(([name, column]) => {
      const closing = isPersonal(column) ? column.closing : undefined
      return closing === 'null' || closing === 'empty' ? [`${name} = ${emptyValue[closing]}`] : []
    })
    .join(', ')
}

export const platformColumns = {
  lease: table({ id: 'leased_by', time: 'leased_until', other: 'name' }),
  migration: table({ time: 'applied_at', other: 'version name' }),
  write_probe: table({ other: 'id filler' }),
} satisfies Tables
