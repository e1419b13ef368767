// What it declares is there already.
#pragma once
