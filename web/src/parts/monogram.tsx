export function Monogram({ of: { firstname, lastname } }: { of: { firstname: string; lastname: string } }) {
  return (
    <span className="monogram" aria-hidden="true">
      {initial(firstname)}
      {initial(lastname)}
    </span>
  )
}

const initial = (name: string) =>
  [...new Intl.Segmenter().segment(name)][0]?.segment.toLocaleUpperCase() ?? ''
