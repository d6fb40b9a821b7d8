interface Named {
  readonly firstname: string
  readonly lastname: string
  readonly preferredName?: string | null
}

export function Monogram({ of: { firstname, lastname, preferredName } }: { of: Named }) {
  return (
    <span className="monogram" aria-hidden="true">
      {initial(preferredName ?? firstname)}
      {initial(lastname)}
    </span>
  )
}

const initial = (name: string) =>
  [...new Intl.Segmenter().segment(name)][0]?.segment.toLocaleUpperCase() ?? ''
