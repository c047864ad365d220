// Makes the precompiled header of the tests a target; holds nothing.
