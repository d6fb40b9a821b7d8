/** "1 row", "2 rows". */
export function counted(count: number, one: string, several: string): string {
  return `${count} ${count === 1 ? one : several}`
}
