"""What mkdocs does before it builds: pages of the nav that are not written yet are left out of it."""

from pathlib import Path
from typing import Any


def on_config(config: Any) -> Any:
    """Keep the entries of the nav whose page exists."""
    config.nav = there(config.nav, Path(config.docs_dir))
    return config


def there(entry: Any, docs: Path) -> Any:
    """The entry without missing pages; of a section, without those in it."""
    if isinstance(entry, list):
        kept = [there(item, docs) for item in entry]
        return [item for item in kept if item]
    if isinstance(entry, dict):
        kept = {title: there(page, docs) for title, page in entry.items()}
        return {title: page for title, page in kept.items() if page}
    return entry if (docs / entry).is_file() else None
