// A plugin of TypeDoc. A document has the name of its heading, not of its file. The README loses its heading: the page has
// the project's name already.

import { Converter } from 'typedoc';

const HEADING = /(?<=^|\n)# (.+)\n/;
const withHeading = (parts) => parts.find(({ text }) => HEADING.test(text));

export function load(app) {
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const document of project.documents ?? []) {
      document.name = HEADING.exec(withHeading(document.content).text)[1];
    }
    const title = withHeading(project.readme);
    title.text = title.text.replace(HEADING, '');
  });
}
